// Arbiter<4>: the first requester behind the last one taken, and nobody waits for more than three others.
//
// watch: after = dut.after
module proof(input wire clock, input wire reset, input wire [3:0] request, input wire advance);
    wire [3:0] grant;
    wire [1:0] index;
    wire valid;
    top dut(
        .clock(clock), .reset(reset), .request(request), .advance(advance),
        .grant(grant), .index(index), .valid(valid)
    );
    (* keep *) wire [3:0] after;

    // The model: who was taken last.
    reg [1:0] last = 3;
    wire taken = advance & |request;
    wire [1:0] try1 = last + 1, try2 = last + 2, try3 = last + 3;
    wire [1:0] next = request[try1] ? try1 : request[try2] ? try2 : request[try3] ? try3 : last;
    always @(posedge clock) last <= reset ? 3 : taken ? next : last;

    // Any one requester that keeps asking, and the grants to others it has seen.
    (* anyconst *) reg [1:0] who;
    reg [2:0] waited = 0;
    always @(posedge clock) waited <= reset || !request[who] || (taken && grant[who]) ? 0 : waited + taken;
    wire [1:0] distance = who - last;

    // What a user sees.
    always @(*) begin
        some: assert(valid == |request);
        asked: assert((grant & ~request) == 0);
        one: assert((grant & (grant - 1)) == 0);
        if (|request) begin
            busy: assert(grant != 0);
            number: assert(grant == 1 << index);
            turn: assert(index == next);
        end else idle: assert(index == 0);
        fair: assert(waited <= 3);
    end

    // What makes it so in every state that can be reached.
    always @(*) begin
        mask: assert(after == (4'b1110 << last));
        if (waited != 0) closer: assert(distance != 0 && waited + distance <= 4);
    end

    always @(*) starved: cover(waited == 3);
endmodule
