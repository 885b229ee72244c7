// TlpJudge: each TLP of the link partner's is handed up once and in order, and nothing else is, whatever comes: any sequence numbers, any
// verdict of the LCRC, packets that are cut, empty, too long or too short.
//
// The LCRC is not in here: it is right, complemented or wrong as the solver likes, but of a packet without a word it is wrong. Of the receive buffer's
// rows any one is watched, and of the TLPs any one, and of its words any one. What is counted is taken modulo 1024: so many are never here.
//
// abstract: narrow_crc32_16
// abstract: ram_tlp_word_9
// share: which = dut.buffer.ram.which
// share: crc = dut.crc.value
// watch: row = dut.buffer.ram.word
// watch: read_data = dut.buffer.ram.read_data
// watch: number = dut.number
// watch: behind = dut.behind
// watch: is_next = dut.is_next
// watch: is_old = dut.is_old
// watch: ended = dut.ended
// watch: edb = dut.edb
// watch: right = dut.right
// watch: opposite = dut.opposite
// watch: cut = dut.cut
// watch: over = dut.over
// watch: is_good = dut.good
// watch: nullified = dut.nullified
// watch: hurt = dut.hurt
// watch: newest = dut.buffer.newest
// watch: middle = dut.buffer.middle
// watch: oldest = dut.buffer.oldest
// watch: has_newest = dut.buffer.has_newest
// watch: has_middle = dut.buffer.has_middle
// watch: has_oldest = dut.buffer.has_oldest
// watch: rows = dut.buffer.rows
// watch: long = dut.buffer.long
// watch: tail = dut.buffer.tail
// watch: good = dut.buffer.good
// watch: head = dut.buffer.head
// watch: reading = dut.buffer.reading
// watch: unfed = dut.crc.unfed
module narrow_crc32_16(
    input wire clock, input wire start, input wire sink_valid, input wire [15:0] sink, output wire [31:0] value
);
    (* anyseq *) reg [31:0] any;
    reg unfed = 0;
    always @(posedge clock) unfed <= start || unfed && !sink_valid;
    assign value = unfed ? 32'hffffffff : any;
endmodule

module ram_tlp_word_9(
    input wire clock, input wire write_enable, input wire [8:0] write_address, input wire [17:0] write_data,
    input wire [8:0] read_address, output reg [17:0] read_data
);
    (* anyconst *) reg [8:0] which;
    (* anyseq *) reg [17:0] other;
    reg [17:0] word;
    always @(posedge clock) begin
        if (write_enable && write_address == which) word <= write_data;
        read_data <= read_address == which && !(write_enable && write_address == which) ? word : other;
    end
endmodule

module proof(
    input wire clock, input wire reset, input wire hears, input wire begins, input wire piece_valid, input wire [17:0] piece,
    input wire ending_valid, input wire [1:0] ending, input wire damaged
);
    wire arrived_valid;
    wire [17:0] arrived;
    wire [4:0] judged;
    wire [11:0] expected;
    top dut(
        .clock(clock), .reset(reset), .hears(hears), .begins(begins), .piece_valid(piece_valid), .piece(piece),
        .ending_valid(ending_valid), .ending(ending), .damaged(damaged), .arrived_valid(arrived_valid), .arrived(arrived),
        .judged(judged), .expected(expected)
    );
    (* keep *) wire [8:0] which, tail, good, head;
    (* keep *) wire [31:0] crc;
    (* keep *) wire [17:0] row, read_data;
    (* keep *) wire [11:0] number, behind;
    (* keep *) wire is_next, is_old, ended, edb, right, opposite, cut, over, is_good, nullified, hurt;
    (* keep *) wire [15:0] newest, middle, oldest;
    (* keep *) wire has_newest, has_middle, has_oldest, long, reading, unfed;
    (* keep *) wire [7:0] rows;

    // What the block relies on: a packet has begun and not ended, none of its words has come, and it is a TLP.
    reg open = 0, fresh = 0, tlp = 0, cleared = 1;
    always @(posedge clock) begin
        cleared <= reset;
        if (piece_valid) {fresh, tlp} <= {1'b0, piece[17]};
        if (ending_valid || damaged) open <= 0;
        if (begins) {open, fresh} <= 2'b11;
        if (reset) open <= 0;
    end
    always @(*) begin
        // from: pcie_deframe.opened
        if (piece_valid) opened: assume(open && piece[16] == fresh && (fresh || piece[17] == tlp));
        // from: pcie_deframe.ends
        if (ending_valid) ends: assume(open && !piece_valid && (fresh || ending[0] == tlp));
        // from: pcie_deframe.hurts
        if (damaged) hurts: assume((open || begins) && (begins || fresh || tlp));
        // from: pcie_deframe.abandoned
        if (begins && open && (piece_valid || !fresh) && (piece_valid ? piece[17] : tlp)) abandoned: assume(ending_valid || damaged);
        // from: pcie_deframe.silent
        if (cleared) silent: assume(!piece_valid && !ending_valid && !damaged);
    end

    // The model. Words of the TLP under way, up to 255, its sequence number first and its LCRC last; then what it is, one and two cycles
    // behind its end, when its fate is decided.
    localparam [7:0] LEAST = 8'd6, MOST = 8'd138;
    reg [7:0] count = 0, length_1, length_2;
    reg [11:0] its_number, number_1, number_2, next = 0;
    reg end_1 = 0, end_2 = 0, good_1 = 0, good_2 = 0, null_1 = 0, null_2 = 0, cut_1 = 0, cut_2 = 0;
    reg [2:0] verdict = 0;
    wire comes = piece_valid && piece[17];
    wire closes = ending_valid && ending[0];
    wire fits = count >= LEAST + 3 && count <= MOST + 3 && (count[0] ^ LEAST[0]);
    wire [11:0] lag_2 = next - number_2;
    wire taken = end_2 && good_2 && lag_2 == 0 && hears;
    // Words that were kept and words that were handed up since the reset.
    reg [9:0] kept = 0, given = 0;
    // Any TLP, and any word of it: marked, and once it is kept at which place of all.
    (* anyconst *) wire [7:0] nth;
    (* anyseq *) wire mark;
    reg marked = 0, marked_1 = 0, marked_2 = 0, waits = 0;
    reg [15:0] text;
    reg [9:0] place;
    reg is_last;
    wire marks = comes && piece[16] && mark && !marked && !marked_1 && !marked_2 && !waits;
    always @(posedge clock) begin
        if (comes) count <= piece[16] ? 8'd1 : &count ? count : count + 8'd1;
        if (comes && piece[16]) its_number <= {piece[3:0], piece[15:8]};
        if (comes && count == nth + 9'd1 && marked) text <= piece[15:0];
        if (ending_valid || damaged || begins) count <= 0;
        {end_1, good_1, null_1} <= {closes, closes && fits && crc == 32'hdebb20e3 && !ending[1], closes && fits && crc == 0 && ending[1]};
        {length_1, number_1, cut_1} <= {count - 8'd3, its_number, damaged};
        {end_2, good_2, null_2, length_2, number_2, cut_2} <= {end_1, good_1, null_1, length_1, number_1, cut_1};
        verdict[0] <= taken;
        verdict[1] <= hears && good_2 && lag_2 != 0 && lag_2 <= 2048;
        verdict[2] <= hears && (cut_2 || end_2 && !good_2 && !null_2 || good_2 && lag_2 > 2048);
        if (taken) next <= next + 12'd1;
        if (taken) kept <= kept + length_2;
        if (arrived_valid) given <= given + 10'd1;
        // A TLP that ends in another way is none.
        marked <= (marks || marked) && !ending_valid && !damaged && !begins;
        marked_1 <= marked && closes && nth + 3 < count;
        marked_2 <= marked_1;
        if (marked_2 && taken) {waits, place, is_last} <= {1'b1, kept + nth, nth + 9'd1 == length_2};
        if (waits && arrived_valid && given == place) waits <= 0;
        if (reset) begin
            {count, next, end_1, end_2, good_1, good_2, null_1, null_2, cut_1, cut_2, verdict, kept, given} <= 0;
            {marked, marked_1, marked_2, waits} <= 0;
        end
    end

    // What a user sees: what became of each TLP, and what is handed up.
    reg [1:0] lag = 0;
    always @(posedge clock) lag <= reset || arrived_valid || given == kept ? 2'd0 : lag + 2'd1;
    always @(*) begin
        next_number: assert(expected == next);
        taken_once: assert(judged[0] == verdict[0]);
        again: assert(judged[1] == verdict[1]);
        nak: assert(judged[2] == verdict[2]);
        if (arrived_valid) no_more: assert(given != kept);
        no_less: assert(lag < 2 || given == kept || arrived_valid);
        if (arrived_valid && waits && given == place && place[8:0] == which) in_order: assert(arrived == {is_last, nth == 0, text});
    end

    // What makes it so in every state that can be reached. How long ago a packet ended or was cut, up to seven cycles.
    reg [2:0] since = 7;
    always @(posedge clock) since <= reset ? 3'd7 : ending_valid && ending[0] || damaged ? 3'd0 : since == 7 ? 3'd7 : since + 3'd1;
    // Rows of this TLP that are stored, rows of good ones that are not read yet, and how far before the last of these the watched word is.
    reg [7:0] stored = 0, unread = 0, back = 0;
    wire fills = has_oldest && (comes && !piece[16] || closes) && rows != MOST;
    always @(posedge clock) begin
        stored <= reset || end_2 || cut_2 ? 8'd0 : stored + fills;
        unread <= reset ? 8'd0 : unread - (unread != 0) + (taken ? length_2 : 8'd0);
        back <= marked_2 && taken ? length_2 - nth : taken ? back + length_2 : back;
    end
    wire [7:0] in_rows = count < 5 ? 8'd0 : count - 4 > MOST ? MOST : count - 8'd4;
    wire [17:0] wanted = {is_last, nth == 0, text};
    wire [8:0] its_row = kept + nth;
    wire [8:0] full = {1'b0, unread} + stored;
    wire [7:0] under_way = unread + reading + arrived_valid;
    wire rtl_fits = !long && !rows[0] && rows >= LEAST;
    wire here = which == its_row;
    always @(*) begin
        count_low: assert((count != 0) == (open && !fresh && tlp) && (since == 7 || count <= since));
        if (open && fresh) no_word: assert(unfed);
        // The stages behind an end.
        stage_1: assert(ended == end_1 && cut == cut_1 && (end_1 || cut_1) == (since == 0));
        stage_2: assert(over == end_2 && hurt == cut_2 && is_good == good_2 && (!end_2 && !cut_2 || since <= 1) && (since != 1 || end_2 || cut_2));
        if (end_2) null: assert(nullified == null_2);
        judged_1: assert(good_1 == (end_1 && rtl_fits && right && !edb) && null_1 == (end_1 && rtl_fits && opposite && edb));
        judged_2: assert(!good_2 || end_2);
        if (good_1) long_ago: assert(!end_2 && !cut_2);
        // The number.
        if (count >= 1) number_0: assert(number == its_number);
        if (count >= 3) behind_0: assert(behind == next - its_number);
        if (count >= 4) compared_0: assert(is_next == (behind == 0) && is_old == (behind != 0 && behind <= 2048));
        if (good_1) compared_1: assert(behind == next - number_1 && is_next == (behind == 0) && is_old == (behind != 0 && behind <= 2048));
        if (good_2) compared_2: assert(is_next == (lag_2 == 0) && is_old == (lag_2 != 0 && lag_2 <= 2048));
        // The words that wait in registers, and the rows.
        if (count >= 1) waiting: assert(has_newest == (count >= 2) && has_middle == (count >= 3) && has_oldest == (count >= 4));
        if (count >= 1) rows_0: assert(rows == in_rows && long == (count > MOST + 4));
        if (end_1 || end_2) no_row: assert(!has_oldest);
        if (since >= 2) settled: assert(stored == in_rows);
        if (good_1) stored_1: assert(stored == length_1 && rows == length_1 && length_1 >= LEAST && length_1 <= MOST);
        if (good_2) stored_2: assert(stored == length_2 && length_2 <= MOST);
        most: assert(rows <= MOST && stored <= MOST && (!has_oldest || stored <= rows));
        kept_rows: assert(good == kept[8:0] && tail == good + {1'b0, stored} && head == good - {1'b0, unread});
        sums: assert(kept == given + {2'd0, under_way});
        room: assert(unread <= MOST && full <= MOST);
        // The way out.
        if (lag >= 1) goes: assert(given == kept || arrived_valid || reading && lag == 1);
        // The word that is watched.
        one_mark: assert({1'b0, marked} + marked_1 + marked_2 + waits <= 1);
        if (marked) mark_0: assert(count >= 1);
        if (marked && nth < MOST) begin
            if (count == nth + 9'd2) at_newest: assert(newest == text);
            if (count == nth + 9'd3) at_middle: assert(middle == text);
            if (count == nth + 9'd4) at_oldest: assert(oldest == text);
            if (count > nth + 9'd4 && here) in_row: assert(row == {1'b0, nth == 0, text});
        end
        if (marked_1) mark_1: assert(end_1);
        if (marked_2) mark_2: assert(end_2);
        if (marked_1 && good_1) mark_in_1: assert(nth < length_1 && (!here || row == {nth + 9'd1 == length_1, nth == 0, text}));
        if (marked_2 && good_2) mark_in_2: assert(nth < length_2 && (!here || row == {nth + 9'd1 == length_2, nth == 0, text}));
        if (waits) on_its_way: assert(back != 0 && back <= under_way && place + {2'd0, back} == kept);
        if (waits && place[8:0] == which) begin
            if (back <= unread) not_read: assert(row == wanted);
            if (reading && back == unread + 8'd1) is_read: assert(read_data == wanted);
            if (arrived_valid && back == under_way) is_shown: assert(arrived == wanted);
        end
    end

    always @(*) handed_up: cover(arrived_valid && waits && given == place && is_last && next == 1);
endmodule
