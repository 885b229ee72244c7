// Protect: the engines get commands of granted accesses only, each of the access that was checked, in the page that its region's row names.
//
// Range is not in here: it grants, or not, as it likes. What its grant says of the access that it looked at is proved of it alone, and so is
// the row that AccessIntake shows with an access, and what becomes of a command behind `issue`. Of the page table any one row is watched.
//
// abstract: range
// abstract: ram_105_rows_log2
// abstract: ram_45_page_log2
// share: which = dut.pages.which
// share: look = dut.look
// share: compare = dut.range.compare
// share: place = dut.range.place
// share: shown = dut.intake_valid
// share: checked = dut.intake_access
// share: whose = dut.intake_client
// share: intake_write = dut.intake_write
// share: open = dut.intake_open
// share: empty = dut.intake_empty
// share: read_issue = dut.read_goes
// share: write_issue = dut.write_offered
// share: second = dut.second
// share: page = dut.pages_read_data
// share: row = dut.range.page
// share: granted = dut.range.granted
// share: crosses = dut.range.crosses
// share: command = dut.cut_command
// watch: turning = dut.turn
// watch: taken = dut.taken
// watch: dut_last = dut.range.last
// watch: word = dut.pages.word
// watch: client = dut.client
// watch: user = dut.user
// watch: writes = dut.writes
// watch: issues = dut.issue
// watch: may_return = dut.may_return
module range(
    input wire clock, input wire look, input wire compare, input wire place, input wire next_page,
    input wire [170:0] access, input wire member, input wire [104:0] region, input wire [104:0] extent,
    output reg granted, output reg [12:0] length, output reg [42:0] offset, output reg [12:0] head,
    output reg crosses, output reg [11:0] rest, output wire [10:0] page
);
    (* anyseq *) reg [93:0] any;
    reg [10:0] last;
    assign page = place ? any[93:83] : next_page ? last + 11'd1 : last;
    always @(posedge clock) begin
        if (place) {granted, length, offset, head, crosses, rest} <= any[82:0];
        last <= page;
    end
endmodule

module ram_105_rows_log2(
    input wire clock, input wire write_enable, input wire [8:0] write_address, input wire [104:0] write_data,
    input wire [8:0] read_address, output wire [104:0] read_data
);
    (* anyseq *) reg [104:0] any;
    assign read_data = any;
endmodule

module ram_45_page_log2(
    input wire clock, input wire write_enable, input wire [10:0] write_address, input wire [44:0] write_data,
    input wire [10:0] read_address, output reg [44:0] read_data
);
    (* anyconst *) reg [10:0] which;
    (* anyseq *) reg [44:0] other;
    reg [44:0] word;
    always @(posedge clock) begin
        if (write_enable && write_address == which) word <= write_data;
        read_data <= read_address == which && !(write_enable && write_address == which) ? word : other;
    end
endmodule

module proof(
    input wire clock, input wire reset,
    input wire fetch_valid, input wire gather_valid, input wire scatter_valid, input wire complete_valid, input wire flush_valid,
    input wire [170:0] fetch, input wire [170:0] gather, input wire [170:0] scatter, input wire [170:0] complete, input wire [170:0] flush,
    input wire commit_valid, input wire [211:0] commit, input wire drain,
    input wire read_retire_valid, input wire read_retire, input wire write_retire_valid, input wire write_retire,
    input wire read_ready, input wire write_ready
);
    wire commit_ready;
    top dut(
        .clock(clock), .reset(reset),
        .fetch_valid(fetch_valid), .fetch(fetch), .gather_valid(gather_valid), .gather(gather),
        .scatter_valid(scatter_valid), .scatter(scatter), .complete_valid(complete_valid), .complete(complete),
        .flush_valid(flush_valid), .flush(flush), .commit_valid(commit_valid), .commit(commit), .commit_ready(commit_ready),
        .drain(drain), .read_retire_valid(read_retire_valid), .read_retire(read_retire),
        .write_retire_valid(write_retire_valid), .write_retire(write_retire),
        .read_ready(read_ready), .write_ready(write_ready)
    );
    (* keep *) wire [10:0] which, row, dut_last;
    (* keep *) wire look, compare, place, shown, intake_write, open, empty, read_issue, write_issue, second, granted, crosses, writes, issues, may_return;
    (* keep *) wire [170:0] checked;
    (* keep *) wire [89:0] command;
    (* keep *) wire [44:0] page, word;
    (* keep *) wire turning, taken;
    (* keep *) wire [1:0] client, whose;
    reg [1:0] access_client;
    (* keep *) wire [7:0] user;

    // The model: the access that Range looked at last, the one that its results are of, and the row that it named.
    reg looked = 0, compared = 0, known = 0, wrote = 0, fresh = 0, began = 0;
    reg [170:0] access;
    reg [10:0] named, last_row;
    reg [56:0] committed;
    always @(posedge clock) begin
        began <= 1;
        looked <= look;
        compared <= compare;
        if (look) {access_client, access} <= {whose, checked};
        // The results are of `access` from `place` on, until the next look.
        fresh <= !look && (place || fresh);
        if (place) named <= row;
        last_row <= row;
        wrote <= commit_valid && commit_ready && commit[211:208] == 4'd2 && commit[207:192] == {5'd0, which};
        if (commit_valid && commit_ready && commit[211:208] == 4'd2 && commit[207:192] == {5'd0, which}) begin
            known <= 1;
            committed <= commit[56:0];
        end
    end
    wire issue = read_issue | write_issue;
    wire [10:0] its_row = named + {10'd0, second};

    // What a user sees.
    always @(*) begin
        if (compare) second_step: assert(looked);
        if (place) third_step: assert(compared);
        if (look) on_show: assert(shown);
        if (intake_write) between: assert(empty && !open);
        if (issue && second) turned: assert(granted && crosses);
        if (issue) of_access: assert(fresh && command[78:77] == access_client && command[86:79] == access[170:163] && write_issue == access[159]);
        if (issue && !command[89]) only_granted: assert(granted);
        if (write_issue) no_refused_write: assert(!command[89]);
        if (issue && granted && known && its_row == which) named_page: assert(page == committed[56:12]);
    end

    // What makes it so in every state that can be reached.
    always @(*) begin
        steps: assert({2'd0, compare} + {2'd0, place} + {2'd0, issues} + {2'd0, turning} + {2'd0, second} == {2'd0, taken});
        if (may_return) waits: assert(issues);
        if (issues || turning || second) at_issue: assert(fresh && !wrote);
        if (compare || place) on_the_way: assert(!wrote);
        if (taken) its_own: assert(client == access_client && user == access[170:163] && writes == access[159]);
        if (issues) first_row: assert(last_row == named);
        if (turning) kept_row: assert(last_row == named);
        if (second) next_row: assert(last_row == named + 11'd1);
        if (turning || second) goes_on: assert(granted && crosses);
        row_kept: assert(dut_last == last_row || !began);
        if (known) holds: assert(word == committed[56:12]);
        if (known && last_row == which && !wrote && began) reads: assert(page == word);
    end

    always @(*) used: cover(write_issue && second && known && its_row == which);
endmodule
