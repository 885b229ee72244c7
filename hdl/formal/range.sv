// Range: an access is granted only if its region allows it and holds it, and its place is in the page that the region's row names.
//
// The block is a pipeline: nothing that comes out of a step goes back into one before it. The model says what the access and its row mean
// when the block looks at them, and takes that along, step by step. All widths are those of the block. The model's numbers have 68 bits, in
// two's complement: none of its sums wraps.
//
// The wide sums are too much for one question to the solver, so each assertion is a question of its own: all of them hold in a state, so this
// one holds in the next. That is induction, and holds for ever.
//
// watch: allowed = dut.allowed
// watch: by_offset = dut.by_offset
// watch: key = dut.key
// watch: tag = dut.tag
// watch: extent_row = dut.extent_row
// watch: delta = dut.delta
// watch: far = dut.far
// watch: finish = dut.finish
// watch: position = dut.position
// watch: asked = dut.asked
// watch: clip = dut.clip
// watch: page_scale = dut.page_scale
// watch: page_mask = dut.page_mask
// watch: behind = dut.behind
// watch: in_range = dut.in_range
// watch: page_index = dut.page_index
// watch: moved = dut.moved
// watch: at = dut.at
// watch: first_page = dut.first_page
// watch: last_frame = dut.last_frame
// watch: page_row = dut.page_row

module proof(
    input wire clock, input wire look, input wire compare, input wire place, input wire next_page,
    input wire [170:0] access, input wire member, input wire [104:0] region, input wire [104:0] extent
);
    wire granted, crosses;
    wire [12:0] length, head;
    wire [42:0] offset;
    wire [11:0] rest;
    wire [10:0] page;
    top dut(
        .clock(clock), .look(look), .compare(compare), .place(place), .next_page(next_page),
        .access(access), .member(member), .region(region), .extent(extent),
        .granted(granted), .length(length), .offset(offset), .head(head), .crosses(crosses), .rest(rest), .page(page)
    );
    (* keep *) wire allowed, by_offset, clip, in_range, last_frame;
    (* keep *) wire [15:0] key, tag, first_page;
    (* keep *) wire [104:0] extent_row;
    (* keep *) wire [47:0] delta;
    (* keep *) wire [16:0] far;
    (* keep *) wire [48:0] finish, position, behind;
    (* keep *) wire [12:0] asked, moved;
    (* keep *) wire [4:0] page_scale;
    (* keep *) wire [30:0] page_mask;
    (* keep *) wire [10:0] page_index, page_row;
    (* keep *) wire [42:0] at;

    // What the block relies on.
    reg began = 0, looked = 0, compared = 0;
    reg [170:0] before;
    reg [10:0] last;
    always @(posedge clock) begin
        began <= 1;
        looked <= look;
        compared <= compare;
        before <= access;
        last <= page;
    end
    wire [63:0] base = region[63:0];
    wire [4:0] scale = region[68:64];
    wire remote = access[161] | access[162];
    always @(*) begin
        // from: protect.second_step
        if (compare) second_step: assume(looked);
        // from: protect.third_step
        if (place) third_step: assume(compared);
        // from: access_intake.stands
        if (look) stands: assume(began && access == before);
        // from: access_intake.row
        if (look && member) mask: assume(region[99:69] == ~(31'h7fffffff << scale));
        // from: outside: a peer's access has a `span` of at least its `length`, says `bus::Access`; its client makes it so
        if (look && remote) span: assume(access[95:64] >= access[108:96]);
    end

    // The model. What the access says: its bytes are `into` bytes behind the region's first one. By offset, it counts from the region's base
    // rounded down to 64, and the base is its low 6 bits behind that. `place` counts from the start of the region's first page.
    wire rights = member & region[100] & (region[103] == access[158]) & ~(access[159] & region[104])
        & ~(access[161] & ~region[101]) & ~(access[162] & ~region[102]) & (access[108:96] != 0) & (access[108:96] <= 4096);
    wire handle = (access[156:141] == extent[63:48]) & (access[157] | (access[140:125] == extent[79:64]));
    wire signed [67:0] size = extent[47:0], ones = (68'd4096 << scale) - 1;
    wire signed [67:0] into = access[157] ? {4'd0, access[63:0]} - base[5:0] : {4'd0, access[63:0]} - base;
    wire signed [67:0] spot = access[157] ? {4'd0, access[63:0]} + (base & ones & ~68'd63) : {4'd0, access[63:0]} - (base & ~ones);
    // A peer's access needs all of its span; one that may be cut short needs one byte.
    wire signed [67:0] needed = access[160] ? 1 : remote ? access[95:64] : access[108:96];

    // What goes along with it.
    reg known1 = 0, known2 = 0, known3 = 0;
    reg rights1, handle1, clip1, rights2, handle2, inside2, rights3, handle3, inside3;
    reg signed [67:0] into1, spot1, ones1, needed1, size1;
    reg [31:0] must1;
    reg [12:0] asked1, moved2, moved3;
    reg [67:0] room2, room3, ones2, ones3, at2, at3, nth2, nth3;
    reg [15:0] first1, first2, first3;
    reg [4:0] scale1;
    reg [10:0] named;
    // All of its bytes lie in the region; so many from the first one on do.
    wire inside1 = into1 >= 0 && into1 + needed1 <= size1;
    wire signed [67:0] room1 = size1 - into1;
    always @(posedge clock) begin
        if (look) begin
            known1 <= 1;
            {rights1, handle1} <= {rights, handle};
            {into1, spot1, ones1, needed1, size1} <= {into, spot, ones, needed, size};
            must1 <= remote & ~access[160] ? access[95:64] : access[108:96];
            {asked1, clip1, first1, scale1} <= {access[108:96], access[160], extent[95:80], scale};
        end
        if (compare) begin
            known2 <= 1;
            {rights2, handle2, inside2, room2, ones2, first2} <= {rights1, handle1, inside1, room1, ones1, first1};
            moved2 <= clip1 && room1 < $signed({1'b0, asked1}) ? room1 : asked1;
            // The page's number, and the place in it.
            nth2 <= spot1 >> (6'd12 + scale1);
            at2 <= spot1 & ones1;
        end
        if (place) begin
            known3 <= 1;
            {rights3, handle3, inside3, room3, ones3, first3} <= {rights2, handle2, inside2, room2, ones2, first2};
            {moved3, nth3, at3} <= {moved2, nth2, at2};
            named <= page;
        end
    end
    wire [67:0] row3 = first3 + nth3;
    // Bytes from the access's first one to its page's end.
    wire [67:0] left3 = ones3 - at3 + 1;
    wire leaves3 = left3 < moved3;
    wire good2 = rights2 & handle2 & inside2 & (nth2 < 2048);

    // What a user sees.
    always @(*) if (known3) begin
        if (granted) allows: assert(rights3);
        if (granted) names: assert(handle3);
        if (granted) holds: assert(inside3);
        if (granted) bytes: assert(length == moved3 && length != 0 && length <= 4096 && length <= room3);
        if (granted) offsets: assert(offset == at3);
        if (granted) border: assert(crosses == leaves3 && (!crosses || head == left3 && head + rest == length && rest != 0));
        if (granted) exists: assert(row3 + leaves3 < 2048);
        if (granted) first_row: assert(named == row3);
    end
    always @(*) if (began && !place) turns: assert(page == last + {10'd0, next_page});

    // What makes it so in every state that can be reached.
    always @(*) if (known3 && granted) begin
        fits_3: assert(moved3 != 0 && moved3 <= 4096 && moved3 <= room3);
    end
    always @(*) if (known2) begin
        in_range_2: assert(in_range == good2);
        first_2: assert(first_page == first2);
        if (good2) moved_2: assert(moved == moved2 && moved2 != 0 && moved2 <= 4096 && moved2 <= room2);
        if (good2) at_2: assert(at == at2 && at2 <= ones2);
        if (good2) index_2: assert(page_index == nth2);
        if (good2) last_2: assert(last_frame == (at2[67:12] == ones2[67:12]));
        ones_2: assert(ones2[11:0] == 12'hfff && ones2[67:43] == 0);
    end
    always @(*) if (known1) begin
        rights_1: assert(allowed == rights1 && (!allowed || asked1 != 0 && asked1 <= 4096));
        handle_1: assert(handle1 == ((by_offset || key == extent_row[79:64]) && tag == extent_row[63:48]));
        rest_1: assert({asked, clip, page_scale, extent_row[95:80], extent_row[47:0]} == {asked1, clip1, scale1, first1, size1[47:0]});
        if (inside1 && rights1) place_1: assert(spot1[67:49] == 0 && spot1[48:0] == position);
        into_1: assert({far, delta} == into1[64:0] && into1[67:64] == {4{into1[64]}});
        finish_1: assert(finish == into1[48:0] + must1);
        needed_1: assert(clip1 ? needed1 == 1 : needed1 == must1 && must1 >= asked1);
        size_1: assert(size1[67:48] == 0 && (!clip1 || must1 == asked1));
        ones_1: assert(ones1 == (68'd4096 << scale1) - 1 && (!rights1 || page_mask == ~(31'h7fffffff << scale1)));
    end
    always @(*) begin
        if (began) sum: assert(behind == before[48:0] + (|before[162:161] && !before[160] ? {17'd0, before[95:64]} : {36'd0, before[108:96]}));
        if (began) row_kept: assert(page_row == last);
        if (looked) was: assert(known1);
        if (compared) was2: assert(known2);
    end

    always @(*) two_pages: cover(known3 && granted && crosses);
    always @(*) shortened: cover(known3 && granted && length == room3 && length == 5);
endmodule
