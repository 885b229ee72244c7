// ClassCredit: the core is told what the limit that was looked at last allows, less what has left it; never more.
//
// Sums are compared modulo their width: what is left is never more than half of it, and where more has gone than may, because this end's own
// packets have used it, nothing is left.
//
// watch: known_headers = dut.known_headers
// watch: known_data = dut.known_data
// watch: gained_headers = dut.gained_headers
// watch: gained_data = dut.gained_data
// watch: gains = dut.gains
// watch: left_headers = dut.left_headers
// watch: left_data = dut.left_data
module proof(
    input wire clock, input wire reset, input wire [21:0] limit, input wire heard, input wire spend, input wire [11:0] units
);
    wire [7:0] headers;
    wire [11:0] data;
    top dut(
        .clock(clock), .reset(reset), .limit(limit), .heard(heard), .spend(spend), .units(units),
        .headers(headers), .data(data)
    );
    (* keep *) wire gains;
    (* keep *) wire [7:0] known_headers, gained_headers, left_headers;
    (* keep *) wire [11:0] known_data, gained_data, left_data;

    // The model: the last two limits that were looked at, how long ago that was, and what has left.
    reg [11:0] sent_data = 0, last_data = 0, before_data = 0;
    reg [7:0] sent_headers = 0, last_headers = 0, before_headers = 0;
    reg [2:0] ago = 7;
    reg spent = 0;
    always @(posedge clock) begin
        spent <= spend;
        ago <= heard ? 3'd0 : ago == 7 ? 3'd7 : ago + 3'd1;
        if (heard) begin
            {last_data, last_headers} <= limit[19:0];
            {before_data, before_headers} <= {last_data, last_headers};
        end
        if (spend) begin
            sent_headers <= sent_headers + 8'd1;
            sent_data <= sent_data + units;
        end
        if (reset) {sent_headers, sent_data, last_headers, last_data, before_headers, before_data} <= 0;
    end

    // What the block relies on.
    always @(*) begin
        // from: pcie_credit_counter.seldom
        if (spent) seldom: assume(!spend);
        // from: outside: Mirror looks every 16 cycles of pclk, and the core's clock is at least half as fast
        if (heard) rarely: assume(ago == 7);
    end

    // What a user sees: in the first two cycles behind a look the limit may still be the one before.
    wire [7:0] now_headers = last_headers - sent_headers, then_headers = before_headers - sent_headers;
    wire [11:0] now_data = last_data - sent_data, then_data = before_data - sent_data;
    always @(*) begin
        if (!limit[20]) headers_left: assert(headers == (now_headers[7] ? 8'd0 : now_headers)
            || ago < 2 && headers == (then_headers[7] ? 8'd0 : then_headers));
        if (!limit[21]) data_left: assert(data == (now_data[11] ? 12'd0 : now_data)
            || ago < 2 && data == (then_data[11] ? 12'd0 : then_data));
        no_limit: assert((!limit[20] || headers == 8'hff) && (!limit[21] || data == 12'hfff));
    end

    // What makes it so in every state that can be reached.
    always @(*) begin
        known: assert(known_headers == last_headers && known_data == last_data);
        left_h: assert(left_headers == (gains ? then_headers : now_headers));
        left_d: assert(left_data == (gains ? then_data : now_data));
        if (gains) gained: assert(gained_headers == now_headers - then_headers && gained_data == now_data - then_data);
        if (gains) soon: assert(ago == 0 || ago == 1 && spent);
    end

    always @(*) three_left: cover(headers == 3 && sent_headers == 2 && !limit[20]);
    always @(*) overdrawn: cover(headers == 0 && last_headers == 2 && sent_headers == 3);
endmodule
