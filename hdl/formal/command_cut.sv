// CommandCut: the commands of an access move its bytes, and none leaves its page.
module proof(
    input wire clock, input wire granted, input wire [42:0] offset, input wire [12:0] length, input wire crosses,
    input wire [12:0] head, input wire [11:0] rest, input wire second, input wire [1:0] client,
    input wire [7:0] user, input wire epoch
);
    wire [89:0] command, follows;
    top dut(
        .granted(granted), .offset(offset), .length(length), .crosses(crosses), .head(head), .rest(rest),
        .second(second), .client(client), .user(user), .epoch(epoch), .command(command)
    );
    // The page's bytes: any power of two from 4 KiB on.
    (* anyconst *) reg [4:0] scale;
    wire [44:0] page = 45'd4096 << scale;
    wire [44:0] left = page - offset;

    // What the block relies on.
    always @(*) if (granted) begin
        // from: range.bytes
        amount: assume(length != 0 && length <= 4096);
        // from: range.offsets
        place: assume(offset < page);
        // from: range.border
        border: assume(crosses == (left < length) && (!crosses || head == left && head + rest == length));
        // from: protect.turned
        if (second) turned: assume(crosses);
    end

    // What a user sees.
    wire [12:0] first_bytes = crosses ? left : length;
    always @(*) if (granted) begin
        one: assert(command[76:64] == (second ? length - first_bytes : first_bytes) && command[88] == (second | !crosses));
        inside_page: assert(command[63:0] == (second ? 0 : offset) && command[63:0] + command[76:64] <= page && !command[89]);
    end
    always @(*) begin
        if (!granted) refusal: assert(command[89] && command[88] && command[76:0] == 0);
        whose: assert(command[87:77] == {epoch, user, client});
    end

    always @(*) cut: cover(granted && second && command[76:64] == 7);
endmodule
