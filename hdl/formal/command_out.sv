// CommandOut: what the engine is offered is a command that was issued, at its offset in the page that came with it.
//
// watch: held = dut.held
// watch: held_page = dut.held_page
module proof(
    input wire clock, input wire reset, input wire issue, input wire [89:0] command, input wire [44:0] page,
    input wire engine_ready
);
    wire waits, engine_valid;
    wire [89:0] engine;
    top dut(
        .clock(clock), .reset(reset), .issue(issue), .command(command), .page(page),
        .waits(waits), .engine_valid(engine_valid), .engine_ready(engine_ready), .engine(engine)
    );
    (* keep *) wire [89:0] held;
    (* keep *) wire [44:0] held_page;

    // The model: the command that was issued last.
    reg there = 0;
    reg [89:0] last;
    reg [44:0] its_page;
    always @(posedge clock) begin
        there <= !reset && (issue || (there && !engine_ready));
        if (issue) begin
            last <= command;
            its_page <= page;
        end
    end

    // What a user sees. The bits of the offset from bit 12 on are those that a page of more than 4 KiB has 0 in its address.
    wire [63:0] bus = last[89] ? last[63:0] : {7'd0, its_page, 12'd0} | last[63:0];
    always @(*) begin
        once: assert(engine_valid == there && waits == there);
        if (engine_valid) command_shown: assert(engine == {last[89:64], bus});
    end

    // What makes it so in every state that can be reached.
    always @(*) if (there) same: assert(held == last && held_page == its_page);

    always @(*) taken: cover(there && engine_ready && !last[89]);
endmodule
