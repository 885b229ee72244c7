// Skid<2 bit>: a queue of two words with every output from a register.
//
// watch: spare = dut.spare
module proof(
    input wire clock, input wire reset,
    input wire in_valid, input wire [1:0] in_data, input wire out_ready
);
    wire in_ready, out_valid;
    wire [1:0] out_data;
    top dut(
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );
    (* keep *) wire [1:0] spare;

    // The model: words from the oldest on.
    reg [1:0] count = 0;
    reg [3:0] words;
    wire push = in_valid & (count != 2);
    wire pop = out_ready & (count != 0);
    wire [1:0] left = count - pop;
    wire [3:0] rest = pop ? words >> 2 : words;
    always @(posedge clock) begin
        words[1:0] <= push && left == 0 ? in_data : rest[1:0];
        words[3:2] <= push && left == 1 ? in_data : rest[3:2];
        count <= reset ? 0 : left + push;
    end

    // What a user sees.
    always @(*) begin
        room: assert(in_ready == (count != 2));
        show: assert(out_valid == (count != 0));
        if (out_valid) order: assert(out_data == words[1:0]);
    end

    // What makes it so in every state that can be reached.
    always @(*) begin
        bound: assert(count <= 2);
        if (count == 2) second: assert(spare == words[3:2]);
    end

    // Both words in use, and emptied again.
    reg full = 0;
    always @(posedge clock) full <= !reset && (full || count == 2);
    always @(*) drained: cover(full && count == 0);
endmodule
