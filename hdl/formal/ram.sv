// Ram<2 bit, 4 rows>: a read gives what was last written, unless the row is being written.
//
// watch: row0 = dut.memory[0]
// watch: row1 = dut.memory[1]
// watch: row2 = dut.memory[2]
// watch: row3 = dut.memory[3]
module proof(
    input wire clock, input wire write_enable, input wire [1:0] write_address, input wire [1:0] write_data,
    input wire [1:0] read_address
);
    wire [1:0] read_data;
    top dut(
        .clock(clock), .write_enable(write_enable), .write_address(write_address), .write_data(write_data),
        .read_address(read_address), .read_data(read_data)
    );
    (* keep *) wire [1:0] row0, row1, row2, row3;

    // Any one row, what it holds, and whether it was read cleanly in the cycle before.
    (* anyconst *) reg [1:0] which;
    reg known = 0, read = 0;
    reg [1:0] word;
    always @(posedge clock) begin
        if (write_enable && write_address == which) begin
            known <= 1;
            word <= write_data;
        end
        read <= known && read_address == which && !(write_enable && write_address == which);
    end

    always @(*) if (read) same: assert(read_data == word);

    // What makes it so in every state that can be reached.
    wire [7:0] rows = {row3, row2, row1, row0};
    always @(*) if (known) holds: assert(rows[2*which +: 2] == word);

    always @(*) used: cover(read && read_data == 2);
endmodule
