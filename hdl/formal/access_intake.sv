// AccessIntake with RegionTable: the row on show with an access is what the last commit wrote for its region.
//
// Any one row is watched. The block's memory has this row alone, and gives anything for all others, for a row that is being written, and for
// what was never written: the proof `ram` says that the memory keeps a row. So nothing is said here of a row before its first commit; a block RAM
// starts with 0, and a row of zeros is not live.
//
// abstract: ram_105_rows_log2
// share: which = dut.rows.rows.which
// watch: first = dut.rows.rows.first
// watch: second = dut.rows.rows.second
// watch: read_data = dut.rows.rows.read_data
// watch: reading = dut.reading
// watch: turn = dut.turn
// watch: held_region = dut.held_region
module ram_105_rows_log2(
    input wire clock, input wire write_enable, input wire [8:0] write_address, input wire [104:0] write_data,
    input wire [8:0] read_address, output reg [104:0] read_data
);
    (* anyconst *) reg [7:0] which;
    (* anyseq *) reg [104:0] other;
    reg [104:0] first, second;
    always @(posedge clock) begin
        if (write_enable && write_address == {which, 1'b0}) first <= write_data;
        if (write_enable && write_address == {which, 1'b1}) second <= write_data;
        read_data <= other;
        if (!write_enable || write_address != read_address) begin
            if (read_address == {which, 1'b0}) read_data <= first;
            if (read_address == {which, 1'b1}) read_data <= second;
        end
    end
endmodule

module proof(
    input wire clock, input wire reset, input wire hold, input wire write, input wire [211:0] commit,
    input wire fetch_valid, input wire gather_valid, input wire scatter_valid, input wire complete_valid,
    input wire [170:0] fetch, input wire [170:0] gather, input wire [170:0] scatter, input wire [170:0] complete,
    input wire next_access, input wire give_back, input wire sure, input wire stuck, input wire write_room,
    input wire [3:0] away, input wire [3:0] issued
);
    wire written, valid, member, open, empty;
    wire [1:0] client;
    wire [3:0] owner;
    wire [170:0] access;
    wire [104:0] region, extent;
    top dut(
        .clock(clock), .reset(reset), .hold(hold), .write(write), .commit(commit), .written(written),
        .fetch_valid(fetch_valid), .fetch_ready(), .fetch(fetch),
        .gather_valid(gather_valid), .gather_ready(), .gather(gather),
        .scatter_valid(scatter_valid), .scatter_ready(), .scatter(scatter),
        .complete_valid(complete_valid), .complete_ready(), .complete(complete),
        .next_access(next_access), .give_back(give_back), .sure(sure), .stuck(stuck), .write_room(write_room),
        .away(away), .issued(issued), .valid(valid), .owner(owner), .access(access), .client(client),
        .member(member), .region(region), .extent(extent), .open(open), .empty(empty)
    );
    (* keep *) wire [7:0] which;
    (* keep *) wire reading;
    (* keep *) wire [3:0] turn;
    (* keep *) wire [104:0] first, second, read_data, held_region;

    // What the block relies on.
    reg [211:0] commit_before;
    reg [170:0] before;
    reg begun = 0;
    always @(posedge clock) begin
        commit_before <= commit;
        before <= access;
        begun <= 1;
    end
    always @(*) begin
        // from: protect.between
        if (write) between: assume(empty && !open);
        // from: outside: a commit stands until it is taken, and meanwhile no access is
        if (written) stands_still: assume(write && commit == commit_before);
    end

    // The model: the last commit of the watched row, once both of its halves are written.
    wire hit = commit[207:192] == {8'd0, which};
    reg known = 0, pending = 0;
    reg [211:0] committed;
    // What stood on the ports when an access could be taken.
    reg [3:0] asked = 0;
    reg [683:0] ports;
    always @(posedge clock) begin
        if (write && hit) known <= written;
        if (write && hit && written) committed <= commit;
        pending <= write && hit && !written && !reset;
        if (open) begin
            asked <= {complete_valid, scatter_valid, gather_valid, fetch_valid};
            ports <= {complete, scatter, gather, fetch};
        end
    end
    wire [5:0] scale = committed[165:160] - 6'd12;
    wire real_size = committed[165:160] >= 12 && committed[165:160] <= 43;
    wire [5:0] fresh_scale = commit_before[165:160] - 6'd12;
    wire fresh_size = commit_before[165:160] >= 12 && commit_before[165:160] <= 43;
    wire [104:0] one = {{committed[170], committed[169], committed[168], committed[167], committed[166]} & {5{real_size}},
        ~(31'h7fffffff << scale[4:0]), scale[4:0], committed[63:0]};
    wire [104:0] fresh = {commit_before[170:166] & {5{fresh_size}}, ~(31'h7fffffff << fresh_scale[4:0]), fresh_scale[4:0], commit_before[63:0]};
    wire [104:0] two = {9'd0, committed[159:144], committed[143:128], committed[127:112], committed[111:64]};
    wire mine = known && access[124:109] == {8'd0, which};

    // What a user sees.
    always @(*) if (valid) begin
        row: assert(!mine || region == one);
        rest_of_row: assert(!mine || extent == two);
        in_table: assert(member == (access[124:109] != 0 && access[124:109] < 256));
        stands: assert(begun && access == before);
        from_client: assert(asked[client] && access == ports[171*client +: 171]);
    end

    // What makes it so in every state that can be reached.
    always @(*) begin
        alone: assert(!(open && (valid || reading)) && !(valid && reading));
        one_turn: assert((turn & (turn - 4'd1)) == 0);
        if (written) halves: assert(pending == (commit_before[207:192] == {8'd0, which}));
        if (pending) half_way: assert(written && first == fresh);
        if (known) holds: assert(first == one && second == two);
        if (reading && mine) reads: assert(read_data == first);
        if (valid && mine) shows: assert(held_region == first && read_data == second);
        if (reading) taken: assert(asked[client] && access == ports[171*client +: 171]);
    end

    always @(*) used: cover(valid && mine && region[100] && client == 2);
endmodule
