// CommandQueue: what the engine is offered is a command that was issued, at its offset in the page that came with it; in order.
//
// Any one of the 16 rows is watched; the queue's memory has this row alone.
//
// abstract: lut_ram_dma_command_4
// share: which = dut.commands.ram.which
// watch: word = dut.commands.ram.word
// watch: head = dut.commands.head
// watch: tail = dut.commands.tail
// watch: count = dut.commands.count
module lut_ram_dma_command_4(
    input wire clock, input wire write_enable, input wire [3:0] write_address, input wire [89:0] write_data,
    input wire [3:0] read_address, output wire [89:0] read_data
);
    (* anyconst *) reg [3:0] which;
    (* anyseq *) reg [89:0] other;
    reg [89:0] word;
    always @(posedge clock) if (write_enable && write_address == which) word <= write_data;
    assign read_data = read_address == which ? word : other;
endmodule

module proof(
    input wire clock, input wire reset, input wire issue, input wire [89:0] command, input wire [44:0] page,
    input wire engine_ready
);
    wire room, waits, engine_valid;
    wire [89:0] engine;
    top dut(
        .clock(clock), .reset(reset), .issue(issue), .command(command), .page(page), .room(room),
        .waits(waits), .engine_valid(engine_valid), .engine_ready(engine_ready), .engine(engine)
    );
    (* keep *) wire [3:0] which, head, tail;
    (* keep *) wire [89:0] word;
    (* keep *) wire [4:0] count;

    // The model: how many came and went, and the one that came when the count of those before it was that of the watched row.
    reg [3:0] came = 0, went = 0;
    reg [4:0] level = 0;
    reg [89:0] last;
    wire push = issue & (level != 16);
    wire pop = engine_ready & (level != 0);
    always @(posedge clock) begin
        came <= reset ? 0 : came + push;
        went <= reset ? 0 : went + pop;
        level <= reset ? 0 : level + push - pop;
        if (push && came == which) last <= {command[89:64], {7'd0, page, 12'd0} | command[63:0]};
    end

    // What a user sees.
    always @(*) begin
        once: assert(engine_valid == (level != 0) && waits == engine_valid);
        if (engine_valid && went == which) command_shown: assert(engine == last);
    end

    // What makes it so in every state that can be reached.
    wire [3:0] its_place = which - went;
    always @(*) begin
        number: assert(count == level && level <= 16 && level[3:0] == came - went);
        ends: assert(head == went && tail == came);
        if ({1'b0, its_place} < level) holds: assert(word == last);
    end

    always @(*) second: cover(engine_valid && went == which && which == 1);
endmodule
