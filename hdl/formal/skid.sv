// Skid<2 bit>: a queue of two words with every output from a register.
//
// watch: spare = dut.spare
module proof(
    input wire clock, input wire reset,
    input wire sink_valid, input wire [1:0] sink, input wire source_ready
);
    wire sink_ready, source_valid;
    wire [1:0] source;
    top dut(
        .clock(clock), .reset(reset), .sink_valid(sink_valid), .sink_ready(sink_ready), .sink(sink),
        .source_valid(source_valid), .source_ready(source_ready), .source(source)
    );
    (* keep *) wire [1:0] spare;

    // The model: words from the oldest on.
    reg [1:0] count = 0;
    reg [3:0] words;
    wire push = sink_valid & (count != 2);
    wire pop = source_ready & (count != 0);
    wire [1:0] left = count - pop;
    wire [3:0] rest = pop ? words >> 2 : words;
    always @(posedge clock) begin
        words[1:0] <= push && left == 0 ? sink : rest[1:0];
        words[3:2] <= push && left == 1 ? sink : rest[3:2];
        count <= reset ? 0 : left + push;
    end

    // What a user sees.
    always @(*) begin
        room: assert(sink_ready == (count != 2));
        show: assert(source_valid == (count != 0));
        if (source_valid) order: assert(source == words[1:0]);
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
