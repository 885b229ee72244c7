// Deframe: whatever symbols come, words are parts of packets that have begun, and a packet that has ended or is damaged says no more.
//
// watch: come = dut.come
// watch: low = dut.low
// watch: high = dut.high
// watch: busy = dut.busy
// watch: busy_tlp = dut.tlp
// watch: dut_fresh = dut.fresh
// watch: is_late = dut.is_late
// watch: late = dut.late
module proof(
    input wire clock, input wire reset, input wire symbols_valid, input wire [19:0] symbols, input wire in_l0
);
    wire begins, piece_valid, ending_valid, damaged;
    wire [17:0] piece;
    wire [1:0] ending;
    top dut(
        .clock(clock), .reset(reset), .symbols_valid(symbols_valid), .symbols(symbols), .in_l0(in_l0), .begins(begins),
        .piece_valid(piece_valid), .piece(piece), .ending_valid(ending_valid), .ending(ending), .damaged(damaged)
    );
    (* keep *) wire come, busy, busy_tlp, dut_fresh, is_late;
    (* keep *) wire [1:0] late;
    (* keep *) wire [4:0] low, high;

    // The model: a packet has begun and not ended, none of its words has come, and it is a TLP.
    reg open = 0, fresh = 0, tlp = 0, cleared = 1;
    always @(posedge clock) begin
        cleared <= reset;
        if (piece_valid) {fresh, tlp} <= {1'b0, piece[17]};
        if (ending_valid || damaged) open <= 0;
        if (begins) {open, fresh} <= 2'b11;
        if (reset) open <= 0;
    end

    wire no_word = fresh && !piece_valid;
    wire tlp_now = piece_valid ? piece[17] : tlp;

    // What a user sees.
    always @(*) begin
        if (piece_valid) opened: assert(open && piece[16] == fresh && (fresh || piece[17] == tlp));
        if (ending_valid) ends: assert(open && !piece_valid && (fresh || ending[0] == tlp));
        if (damaged) hurts: assert((open || begins) && (begins || fresh || tlp));
        if (begins && open && !no_word && tlp_now) abandoned: assert(ending_valid || damaged);
        if (cleared) silent: assert(!piece_valid && !ending_valid && !damaged);
    end

    // What makes it so in every state that can be reached.
    wire open_now = begins || open && !ending_valid && !damaged;
    wire fresh_now = begins || no_word;
    always @(*) begin
        if (busy) packet: assert(open_now && dut_fresh == fresh_now && (fresh_now || busy_tlp == tlp_now) && !is_late);
        if (open_now && !fresh_now && tlp_now) not_lost: assert(busy || is_late);
        if (is_late) ending_due: assert(open_now && (fresh_now || late[0] == tlp_now));
        one_kind: assert((low[3:0] & (low[3:0] - 4'd1)) == 0 && (high[3:0] & (high[3:0] - 4'd1)) == 0);
        if (cleared) nothing: assert(!busy && !is_late && !come);
    end

    always @(*) joined: cover(ending_valid && begins && damaged && open);
endmodule
