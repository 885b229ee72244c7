// Credits of the PCI Express link: no TLP begins whose class has no credits, whatever the link partner says and whatever is offered.
//
// Of the three classes any one is watched. The model counts what the partner allowed and what was sent, and says by the header what a TLP
// costs. A limit counts three cycles after it was heard; a partner never takes one back.
//
// watch: state = dut.state
// watch: one = dut.one
// watch: two = dut.two
// watch: header = dut.header
// watch: left = dut.left
// watch: endless = dut.endless
// watch: enough = dut.enough
// watch: cost = dut.cost
// watch: allowed_0 = dut.accounts_0.allowed
// watch: allowed_1 = dut.accounts_1.allowed
// watch: allowed_2 = dut.accounts_2.allowed
// watch: known_0 = dut.accounts_0.is_known
// watch: known_1 = dut.accounts_1.is_known
// watch: known_2 = dut.accounts_2.is_known
// watch: used_headers_0 = dut.accounts_0.used_headers
// watch: used_headers_1 = dut.accounts_1.used_headers
// watch: used_headers_2 = dut.accounts_2.used_headers
// watch: used_data_0 = dut.accounts_0.used_data
// watch: used_data_1 = dut.accounts_1.used_data
// watch: used_data_2 = dut.accounts_2.used_data
// watch: left_headers_0 = dut.accounts_0.left_headers
// watch: left_headers_1 = dut.accounts_1.left_headers
// watch: left_headers_2 = dut.accounts_2.left_headers
// watch: left_data_0 = dut.accounts_0.left_data
// watch: left_data_1 = dut.accounts_1.left_data
// watch: left_data_2 = dut.accounts_2.left_data
module proof(
    input wire clock, input wire reset, input wire offered_valid, input wire [17:0] offered, input wire passed_ready,
    input wire heard_valid, input wire [27:0] heard, input wire init1, input wire blocked
);
    wire offered_ready, passed_valid, complete, idle;
    wire [17:0] passed;
    wire [65:0] limits;
    top dut(
        .clock(clock), .reset(reset), .offered_valid(offered_valid), .offered_ready(offered_ready), .offered(offered),
        .passed_valid(passed_valid), .passed_ready(passed_ready), .passed(passed),
        .heard_valid(heard_valid), .heard(heard), .init1(init1), .blocked(blocked),
        .limits(limits), .complete(complete), .idle(idle)
    );
    (* keep *) wire [2:0] state;
    (* keep *) wire [17:0] one, two;
    (* keep *) wire header, endless, enough, known_0, known_1, known_2;
    (* keep *) wire [11:0] left, cost, used_data_0, used_data_1, used_data_2, left_data_0, left_data_1, left_data_2;
    (* keep *) wire [21:0] allowed_0, allowed_1, allowed_2;
    (* keep *) wire [7:0] used_headers_0, used_headers_1, used_headers_2, left_headers_0, left_headers_1, left_headers_2;

    // The model. The class that is watched: 0 posted, 1 non-posted, 2 completions.
    (* anyconst *) wire [1:0] any;
    wire [1:0] which = any == 3 ? 2'd0 : any;

    // What the partner has allowed: the first InitFC while limits are not known, then UpdateFC. 0 is without limit, for good.
    wire mine = heard_valid && heard[7:6] == which;
    wire first_limit = mine && init1 && (heard[2] || heard[3]) && !known;
    wire later_limit = mine && !init1 && heard[4] && known;
    reg known = 0, no_limit_headers = 0, no_limit_data = 0;
    reg [7:0] headers = 0, headers_1 = 0, headers_2 = 0, headers_3 = 0, sent_headers = 0;
    reg [11:0] data = 0, data_1 = 0, data_2 = 0, data_3 = 0, sent_data = 0;
    reg no_limit_headers_1 = 0, no_limit_headers_2 = 0, no_limit_data_1 = 0, no_limit_data_2 = 0;

    // The TLP that is here: how many of its first words have come, and how many have gone.
    reg [1:0] came = 0, went = 0;
    reg [17:0] word_1, word_2;
    wire takes = offered_valid && offered_ready;
    wire gives = passed_valid && passed_ready;
    wire begins = passed_valid && went == 0;
    wire [7:0] kind = word_1[7:0];
    wire posted = kind[4:3] == 2 || kind[6] && kind[4:0] == 0;
    wire completion = kind[4:1] == 4'b0101;
    wire [1:0] class_of = posted ? 2'd0 : completion ? 2'd2 : 2'd1;
    wire [9:0] length = {word_2[1:0], word_2[15:8]};
    wire [10:0] double_words = length == 0 ? 11'd1024 : length;
    wire [11:0] units = kind[6] ? (double_words + 12'd3) / 4 : 12'd0;
    always @(posedge clock) begin
        if (first_limit || later_limit) {data, headers} <= {heard[27:16], heard[15:8]};
        if (first_limit) {known, no_limit_data, no_limit_headers} <= {1'b1, heard[27:16] == 12'd0, heard[15:8] == 8'd0};
        {headers_1, headers_2, headers_3} <= {headers, headers_1, headers_2};
        {data_1, data_2, data_3} <= {data, data_1, data_2};
        {no_limit_headers_1, no_limit_headers_2} <= {no_limit_headers, no_limit_headers_1};
        {no_limit_data_1, no_limit_data_2} <= {no_limit_data, no_limit_data_1};
        if (gives && went == 0 && class_of == which) begin
            sent_headers <= sent_headers + 8'd1;
            sent_data <= sent_data + units;
        end
        if (takes && came == 0) word_1 <= offered;
        if (takes && came == 1) word_2 <= offered;
        if (takes && came != 2) came <= came + 2'd1;
        if (gives && went != 2) went <= went + 2'd1;
        if (gives && went == 2 && passed[17]) {came, went} <= 0;
        if (reset) begin
            {known, no_limit_headers, no_limit_data, headers, data, sent_headers, sent_data, came, went} <= 0;
        end
    end

    // What a user sees. Credits are compared modulo their width: what is left is never more than half of it.
    wire [7:0] headers_left = headers_3 - sent_headers;
    wire [11:0] data_left = data_3 - sent_data - units;
    always @(*) begin
        if (begins && class_of == which) begin
            header_credit: assert(known && (no_limit_headers || headers_left >= 1 && headers_left <= 127));
            data_credit: assert(known && (no_limit_data || units == 0 || data_left <= 2047));
        end
        if (passed_valid) whole: assert(came == 2 && passed == (went == 0 ? word_1 : went == 1 ? word_2 : offered)
            && (went < 2 || offered_valid && offered_ready == passed_ready));
        if (offered_ready) held: assert(came == 0 ? !blocked && idle : came == 1 || went == 2 && passed_valid == offered_valid);
        shown: assert(limits[22 * which +: 22] == {no_limit_data, no_limit_headers, data, headers} && (known || !complete));
    end

    // The next TLP comes no sooner than four cycles behind the last word of one.
    reg [1:0] since = 3;
    always @(posedge clock) since <= gives && passed[17] && went == 2 ? 2'd0 : since == 3 ? 2'd3 : since + 2'd1;
    always @(*) if (since != 3) apart: assert(!passed_valid);

    // What makes it so in every state that can be reached.
    wire [21:0] allowed = which == 0 ? allowed_0 : which == 1 ? allowed_1 : allowed_2;
    wire is_known = which == 0 ? known_0 : which == 1 ? known_1 : known_2;
    wire [7:0] used_headers = which == 0 ? used_headers_0 : which == 1 ? used_headers_1 : used_headers_2;
    wire [7:0] left_headers = which == 0 ? left_headers_0 : which == 1 ? left_headers_1 : left_headers_2;
    wire [11:0] used_data = which == 0 ? used_data_0 : which == 1 ? used_data_1 : used_data_2;
    wire [11:0] left_data = which == 0 ? left_data_0 : which == 1 ? left_data_1 : left_data_2;
    // Cycles since the TLP's words are here, up to three.
    reg [1:0] waited = 0;
    // Cycles since a TLP began or all was forgotten, up to three: so long the sums of what was sent stand still.
    reg [1:0] calm = 3;
    reg [7:0] sent_headers_1 = 0, sent_headers_2 = 0, sent_headers_3 = 0;
    reg [11:0] sent_data_1 = 0, sent_data_2 = 0, sent_data_3 = 0;
    always @(posedge clock) begin
        waited <= came != 2 || reset ? 2'd0 : waited == 3 ? 2'd3 : waited + 2'd1;
        calm <= reset || gives && went == 0 ? 2'd0 : calm == 3 ? 2'd3 : calm + 2'd1;
        {sent_headers_1, sent_headers_2, sent_headers_3} <= {sent_headers, sent_headers_1, sent_headers_2};
        {sent_data_1, sent_data_2, sent_data_3} <= {sent_data, sent_data_1, sent_data_2};
    end
    wire [7:0] headers_were = headers_2 - sent_headers_2, headers_had = headers_3 - sent_headers_3;
    wire [11:0] data_were = data_2 - sent_data_2, data_had = data_3 - sent_data_3;
    always @(*) begin
        steps: assert(state == (came < 2 ? {1'b0, came} : went == 0 ? (waited == 0 ? 3'd2 : 3'd3) : went == 1 ? 3'd4 : 3'd5));
        counts: assert(came <= 2 && went <= 2 && (went == 0 || came == 2));
        if (came > 0) first_word: assert(one == word_1);
        if (came > 1) second_word: assert(two == word_2);
        limit: assert(allowed == {no_limit_data, no_limit_headers, data, headers} && is_known == known);
        if (!known) nothing: assert(!no_limit_data && !no_limit_headers && headers == 0 && data == 0 && sent_headers == 0 && sent_data == 0);
        if (!known && calm >= 1) nothing_1: assert(headers_1 == 0 && data_1 == 0 && !no_limit_headers_1 && !no_limit_data_1);
        if (!known && calm >= 2) nothing_2: assert(headers_2 == 0 && data_2 == 0 && !no_limit_headers_2 && !no_limit_data_2);
        if (!known && calm >= 3) nothing_3: assert(headers_3 == 0 && data_3 == 0);
        if (came == 2 && went == 0 && class_of == which) begin
            price: assert(waited == 0 || cost == units);
            had_header: assert(header == (no_limit_headers_1 || headers_were != 0 && headers_were < 128));
            had_data: assert(left == data_were && endless == no_limit_data_1);
            if (waited != 0) weighed: assert(enough == ((no_limit_headers_2 || headers_had != 0 && headers_had < 128)
                && (!kind[6] || no_limit_data_2 || data_had < 2048 && {data_had, 2'd0} >= double_words)));
        end
        before_headers: assert(left_headers == headers_1 - sent_headers_1);
        before_data: assert(left_data == data_1 - sent_data_1);
        quiet: assert(went != 0 || calm >= (came == 2 ? waited == 0 ? 2 : 3 : came));
        if (calm >= 1) once_known: assert((!no_limit_headers_1 || no_limit_headers) && (!no_limit_data_1 || no_limit_data));
        if (calm >= 2) long_known: assert((!no_limit_headers_2 || no_limit_headers_1) && (!no_limit_data_2 || no_limit_data_1));
        if (calm >= 1) still_1: assert(sent_headers_1 == sent_headers && sent_data_1 == sent_data);
        if (calm >= 2) still_2: assert(sent_headers_2 == sent_headers && sent_data_2 == sent_data);
        if (calm >= 3) still_3: assert(sent_headers_3 == sent_headers && sent_data_3 == sent_data);
        if (since != 3) next_one: assert(went == 0 && came <= since && (came != 2 || waited == 0));
        used: assert(used_headers == sent_headers && used_data == sent_data);
    end
endmodule
