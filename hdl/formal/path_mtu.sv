// PathMtu: bytes of each code.
module proof(input wire [2:0] code);
    wire [12:0] bytes;
    top dut(.code(code), .bytes(bytes));

    // What a user sees.
    always @(*) begin
        if (code <= 4) shifted: assert(bytes == 13'd256 << code);
        else most: assert(bytes == 4096);
    end

    always @(*) largest: cover(bytes == 4096);
endmodule
