// InFlight<24>: whether a number lies among those in flight.
//
// watch: distance = dut.distance
module proof(
    input wire clock, input wire load,
    input wire [23:0] number, input wire [23:0] oldest, input wire [23:0] fresh
);
    wire in_flight;
    wire [23:0] size;
    top dut(
        .clock(clock), .load(load), .number(number), .oldest(oldest), .fresh(fresh),
        .in_flight(in_flight), .size(size)
    );
    (* keep *) wire [23:0] distance;

    // The model: what was read last. Any one of the numbers in flight is so many steps from the oldest.
    reg known = 0;
    reg [23:0] asked, first, last;
    (* anyconst *) reg [23:0] steps;
    always @(posedge clock) begin
        known <= known | load;
        if (load) begin
            asked <= number;
            first <= oldest;
            last <= fresh;
        end
    end

    // What a user sees.
    always @(*) if (known) begin
        reach: assert(first + size == last);
        if (steps < size && asked == first + steps) inside_it: assert(in_flight);
        if (steps >= size && asked == first + steps) outside_it: assert(!in_flight);
    end

    // What makes it so in every state that can be reached.
    always @(*) if (known) way: assert(first + distance == asked);

    always @(*) wrapped: cover(known && in_flight && asked < first);
endmodule
