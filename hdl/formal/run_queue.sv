// RunQueue<4 identifiers>: a queue in which each identifier is at most once and no push is lost.
//
// watch: wakes = dut.wakes
// watch: woken = dut.woken
// watch: head = dut.head
// watch: tail = dut.tail
// watch: cleared = dut.cleared
// watch: shown = dut.shown
// watch: oldest = dut.oldest_row
// watch: row0 = dut.queue.memory[0]
// watch: row1 = dut.queue.memory[1]
// watch: row2 = dut.queue.memory[2]
// watch: row3 = dut.queue.memory[3]
// watch: in_low = dut.pushed.memory[0]
// watch: in_high = dut.pushed.memory[1]
// watch: out_low = dut.popped.memory[0]
// watch: out_high = dut.popped.memory[1]
module proof(
    input wire clock, input wire reset,
    input wire push_valid, input wire [1:0] push_id, input wire pop_ready
);
    wire pop_valid, held, busy;
    wire [1:0] pop_id;
    top dut(
        .clock(clock), .reset(reset), .push_valid(push_valid), .push(push_id),
        .pop_valid(pop_valid), .pop(pop_id), .pop_ready(pop_ready), .held(held), .busy(busy)
    );
    (* keep *) wire [2:0] head, tail, cleared, oldest, row0, row1, row2, row3;
    (* keep *) wire [1:0] woken, in_low, in_high, out_low, out_high;
    (* keep *) wire wakes, shown;

    // The owner's part of the contract.
    always @(*) assume(!(busy && push_valid));

    // The model: the push of the cycle before, identifiers from the oldest on, who is inside, and the cycles since reset.
    reg late = 0;
    reg [1:0] late_id;
    reg [2:0] count = 0, since = 0;
    reg [7:0] ids;
    reg [3:0] inside = 0;
    wire pop = pop_ready & (count != 0);
    wire [3:0] kept = inside & ~(pop ? 4'b1 << ids[1:0] : 4'b0);
    wire push = late & ~inside[late_id];
    wire [2:0] left = count - pop;
    wire [7:0] rest = pop ? ids >> 2 : ids;
    integer i;
    always @(posedge clock) begin
        for (i = 0; i < 4; i = i + 1)
            ids[2*i +: 2] <= push && left == i ? late_id : rest[2*i +: 2];
        late <= !reset && push_valid;
        late_id <= push_id;
        count <= reset ? 0 : left + push;
        inside <= reset ? 0 : kept | (push ? 4'b1 << late_id : 4'b0);
        since <= reset ? 0 : since + (since != 4);
    end

    // What a user sees.
    always @(*) begin
        ready: assert(busy == (since != 4));
        show: assert(pop_valid == (count != 0));
        kept_back: assert(held == (late || count != 0));
        if (pop_valid) order: assert(pop_id == ids[1:0]);
    end

    // What makes it so in every state that can be reached.
    wire [11:0] rows = {row3, row2, row1, row0};
    wire [3:0] pushed = {in_high, in_low}, popped = {out_high, out_low};
    wire [3:0] done = (4'b1 << since) - 1;
    wire [1:0] at1 = head, at2 = head + 1, at3 = head + 2;
    wire [2:0] r1 = rows[3*at1 +: 3], r2 = rows[3*at2 +: 3], r3 = rows[3*at3 +: 3];
    wire [3:0] members = (count > 0 ? 4'b1 << ids[1:0] : 4'b0) | (count > 1 ? 4'b1 << ids[3:2] : 4'b0)
        | (count > 2 ? 4'b1 << ids[5:4] : 4'b0) | (count > 3 ? 4'b1 << ids[7:6] : 4'b0);
    wire [2:0] size = inside[0] + inside[1] + inside[2] + inside[3];
    always @(*) begin
        bound: assert(count <= 4);
        walk: assert(since <= 4 && cleared == since);
        waits: assert(wakes == late && (!late || woken == late_id));
        span: assert(shown == (count != 0) && tail == head + (count - shown));
        // Each identifier inside is on show or in one row, and no row holds another.
        list: assert(inside == members && size == count);
        if (since != 4) begin
            quiet: assert(count == 0 && !late);
            zero: assert(((pushed | popped) & done) == 0);
        end else parity: assert((pushed ^ popped) == inside);
        if (count > 0) first: assert(oldest == {pushed[ids[1:0]], ids[1:0]});
        if (count > 1) second: assert(r1 == {pushed[ids[3:2]], ids[3:2]});
        if (count > 2) third: assert(r2 == {pushed[ids[5:4]], ids[5:4]});
        if (count > 3) fourth: assert(r3 == {pushed[ids[7:6]], ids[7:6]});
    end

    // All inside, one leaves and comes back at once, and all leave.
    reg again = 0;
    always @(posedge clock) begin
        again <= !reset && (again || (count == 4 && pop && push_valid && push_id == ids[1:0]));
    end
    always @(*) drained: cover(again && count == 0);
endmodule
