// Fifo<2 bit, 4 words>: a queue, cycle by cycle, from any reset on.
//
// watch: head = dut.head
// watch: tail = dut.tail
// watch: row0 = dut.ram.memory[0]
// watch: row1 = dut.ram.memory[1]
// watch: row2 = dut.ram.memory[2]
// watch: row3 = dut.ram.memory[3]
module proof(
    input wire clock, input wire reset,
    input wire sink_valid, input wire [1:0] sink, input wire source_ready
);
    wire sink_ready, source_valid;
    wire [1:0] source;
    wire [2:0] level;
    top dut(
        .clock(clock), .reset(reset), .sink_valid(sink_valid), .sink_ready(sink_ready), .sink(sink),
        .source_valid(source_valid), .source_ready(source_ready), .source(source), .level(level)
    );
    (* keep *) wire [1:0] head, tail, row0, row1, row2, row3;

    // The model: words from the oldest on.
    reg [2:0] count = 0;
    reg [7:0] words;
    wire push = sink_valid & (count != 4);
    wire pop = source_ready & (count != 0);
    wire [2:0] left = count - pop;
    wire [7:0] rest = pop ? words >> 2 : words;
    integer i;
    always @(posedge clock) begin
        for (i = 0; i < 4; i = i + 1)
            words[2*i +: 2] <= push && left == i ? sink : rest[2*i +: 2];
        count <= reset ? 0 : left + push;
    end

    // What a user sees.
    always @(*) begin
        room: assert(sink_ready == (count != 4));
        show: assert(source_valid == (count != 0));
        number: assert(level == count);
        if (source_valid) order: assert(source == words[1:0]);
    end

    // What makes it so in every state that can be reached: the rows from head on are the words.
    wire [7:0] rows = {row3, row2, row1, row0};
    wire [1:0] at1 = head + 1, at2 = head + 2, at3 = head + 3;
    always @(*) begin
        bound: assert(count <= 4);
        span: assert(tail == head + count[1:0]);
        if (count > 0) first: assert(rows[2*head +: 2] == words[1:0]);
        if (count > 1) second: assert(rows[2*at1 +: 2] == words[3:2]);
        if (count > 2) third: assert(rows[2*at2 +: 2] == words[5:4]);
        if (count > 3) fourth: assert(rows[2*at3 +: 2] == words[7:6]);
    end

    // Full once the pointers have gone round, and emptied again.
    reg round = 0, full = 0;
    always @(posedge clock) begin
        round <= !reset && (round || (push && tail == 3));
        full <= !reset && (full || (round && count == 4));
    end
    always @(*) wrapped: cover(full && count == 0);
endmodule
