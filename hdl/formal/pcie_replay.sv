// Replay: only TLPs are sent that are stored and not acknowledged, in the order of their numbers, and only an Ack or a Nak of one that was sent
// frees any. So no number that is sent is further from the oldest one than 64, of the 2048 that there may be.
//
// What the rows are is not in here: the ring's memories give what the solver likes.
//
// abstract: ram_row_11
// abstract: shallow_ram_11_6
// share: oldest = dut.oldest
// watch: state = dut.state
// watch: asked = dut.asked
// watch: asked_number = dut.asked_number
// watch: named = dut.named
// watch: nak = dut.nak
// watch: frees = dut.frees
// watch: dut_sent = dut.sent
// watch: fresh = dut.fresh
// watch: ready = dut.ready
// watch: sending = dut.sending
// share: dut_lag = dut.lag
// watch: again = dut.again
// watch: count = dut.ring.count
// share: held = dut.ring.held
// watch: room = dut.ring.room
module ram_row_11(
    input wire clock, input wire write_enable, input wire [10:0] write_address, input wire [16:0] write_data,
    input wire [10:0] read_address, output wire [16:0] read_data
);
    (* anyseq *) reg [16:0] any;
    assign read_data = any;
endmodule

module shallow_ram_11_6(
    input wire clock, input wire write_enable, input wire [5:0] write_address, input wire [10:0] write_data,
    input wire [5:0] read_address, output wire [10:0] read_data
);
    (* anyseq *) reg [10:0] any;
    assign read_data = any;
endmodule

module proof(
    input wire clock, input wire reset, input wire in_l0, input wire [2:0] max_payload, input wire sink_valid, input wire [17:0] sink,
    input wire heard_valid, input wire [27:0] heard, input wire begins, input wire takes, input wire ends
);
    wire sink_ready, waits, retrain, empty;
    wire [11:0] number, oldest;
    wire [16:0] row;
    top dut(
        .clock(clock), .reset(reset), .in_l0(in_l0), .max_payload(max_payload), .sink_valid(sink_valid), .sink_ready(sink_ready),
        .sink(sink), .heard_valid(heard_valid), .heard(heard), .waits(waits), .number(number), .row(row), .begins(begins),
        .takes(takes), .ends(ends), .retrain(retrain), .empty(empty)
    );
    (* keep *) wire [2:0] state;
    (* keep *) wire asked, nak, ready, sending, room, again;
    (* keep *) wire [11:0] asked_number, named, frees;
    (* keep *) wire [7:0] dut_sent, fresh, dut_lag, count, held;

    // What the block relies on. A TLP is under way from `begins` to `ends`.
    reg under_way = 0;
    reg [1:0] age = 0, since = 3;
    wire stores = sink_valid && sink_ready;
    always @(posedge clock) begin
        if (begins) {under_way, age} <= {1'b1, 2'd0};
        else if (age != 3) age <= age + 2'd1;
        if (ends) under_way <= 0;
        since <= stores && sink[17] ? 2'd0 : since == 3 ? 2'd3 : since + 2'd1;
        if (reset) {under_way, since} <= 3'b011;
    end
    always @(*) begin
        // from: pcie_frame.turn
        if (begins) turn: assume(waits && !under_way);
        // from: pcie_frame.end_of_tlp
        if (ends) end_of_tlp: assume(under_way && age >= 2);
        // from: pcie_credits.apart
        if (since != 3) apart: assume(!sink_valid);
    end

    // The model: how many TLPs were stored, sent to their end and freed since the link came up, modulo 4096. Any number is watched: whether
    // an Ack or a Nak of it was heard.
    (* anyconst *) wire [11:0] which;
    reg [11:0] stored = 0, sent = 0, was_oldest = 0, going = 0;
    reg [11:0] was_sent = 0;
    reg named_which = 0, was_named = 0, cleared = 1;
    wire names = heard_valid && (heard[0] || heard[1]) && heard[27:16] == which;
    always @(posedge clock) begin
        cleared <= reset;
        if (stores && sink[17]) stored <= stored + 12'd1;
        if (begins) going <= number;
        if (ends && going == sent) sent <= sent + 12'd1;
        {was_oldest, was_sent, was_named} <= {oldest, sent, named_which};
        if (names) named_which <= 1;
        if (reset) {stored, sent, named_which} <= 0;
    end
    wire [11:0] place = number - oldest, all = stored - oldest, gone = sent - oldest, freed = oldest - was_oldest;

    // What a user sees.
    always @(*) begin
        if (begins) window: assert(place < all && all <= 64 && place <= gone);
        if (!cleared && freed != 0) known: assert(freed <= was_sent - was_oldest);
        if (!cleared && freed != 0 && oldest == which + 12'd1) heard_of: assert(was_named);
        if (under_way) stays: assert(number == going);
    end

    // What makes it so in every state that can be reached.
    localparam [2:0] LOOK = 1, JUDGE = 2, APPLY = 3, SETTLE = 4, MOVE = 5, REWIND = 6;
    wire [11:0] behind = oldest - number, to_free = named - oldest;
    wire is_behind = (state == SETTLE || state == MOVE) && behind != 0 && behind <= 64;
    always @(*) begin
        counted: assert(fresh == sent[7:0] && count == stored[7:0] && sending == under_way && state <= REWIND);
        sent_stored: assert(gone <= all && all <= 64);
        next_sent: assert(place <= gone || is_behind && !under_way);
        if (ready) there: assert(number != stored);
        if (state == MOVE) far: assert(is_behind ? dut_lag == place[7:0] : !dut_lag[7]);
        if (state == REWIND) rewinds: assert(again && !under_way);
        if (state == JUDGE) counts: assert(frees == to_free && dut_sent <= gone[7:0]);
        if (state == APPLY) frees_sent: assert(to_free < gone);
        if (asked && asked_number == which) asked_heard: assert(named_which);
        if (state != 0 && state <= APPLY && named == which) named_heard: assert(named_which);
        if (since >= 1) held_now: assert(held >= all[7:0] && held <= 64);
        if (since >= 2 && room) not_full: assert(all < 64);
        if (under_way) sends: assert(place < all);
    end

    always @(*) replays: cover(begins && place == 0 && gone == 2 && oldest == 1);
endmodule
