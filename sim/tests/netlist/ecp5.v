// The cells of the ECP5 that yosys makes of the NIC's core, as Lattice describes them (FPGA-TN-02204, FPGA-TN-02205), for Verilator: one expression
// a LUT. What they can do beyond what yosys uses is refused, not guessed.

module LUT4(input A, B, C, D, output Z);
  parameter [15:0] INIT = 0;
  assign Z = INIT[{D, C, B, A}];
endmodule

// Two bits of a sum: each a LUT4 whose low half, a LUT2 of A and B, makes the carry where the LUT4 passes none on.
module CCU2C(input CIN, A0, B0, C0, D0, A1, B1, C1, D1, output S0, S1, COUT);
  parameter [15:0] INIT0 = 0, INIT1 = 0;
  parameter INJECT1_0 = "NO", INJECT1_1 = "NO";
  wire pass0 = INIT0[{D0, C0, B0, A0}];
  wire pass1 = INIT1[{D1, C1, B1, A1}];
  wire middle = pass0 ? CIN : INIT0[{2'b00, B0, A0}];
  assign S0 = pass0 ^ CIN;
  assign S1 = pass1 ^ middle;
  assign COUT = pass1 ? middle : INIT1[{2'b00, B1, A1}];
  initial if (INJECT1_0 != "NO" || INJECT1_1 != "NO") begin
    $display("CCU2C: not in a way that this model knows");
    $stop;
  end
endmodule

// A flip-flop; LSR sets or clears it at the clock's edge, whatever CE says. It starts as LSR leaves it.
module TRELLIS_FF(input CLK, LSR, CE, DI, M, output reg Q);
  parameter GSR = "DISABLED", CEMUX = "CE", CLKMUX = "CLK", LSRMUX = "LSR", REGSET = "RESET", SRMODE = "LSR_OVER_CE";
  wire enable = CEMUX == "1" || (CEMUX == "INV" ? !CE : CE);
  initial Q = REGSET == "SET";
  always @(posedge CLK)
    if (LSR) Q <= REGSET == "SET";
    else if (enable) Q <= DI;
  initial if ((CEMUX != "1" && CEMUX != "CE" && CEMUX != "INV") || CLKMUX != "CLK" || LSRMUX != "LSR" || SRMODE != "LSR_OVER_CE"
      || (REGSET != "SET" && REGSET != "RESET")) begin
    $display("TRELLIS_FF: not in a way that this model knows");
    $stop;
  end
endmodule

// Sixteen rows of four bits. Contents are random at power-up: no memory of the NIC has any.
module TRELLIS_DPR16X4(input [3:0] DI, WAD, RAD, input WRE, WCK, output [3:0] DO);
  parameter WCKMUX = "WCK", WREMUX = "WRE";
  parameter [63:0] INITVAL = 64'bx;
  reg [3:0] memory [15:0];
  always @(posedge WCK) if (WRE) memory[WAD] <= DI;
  assign DO = memory[RAD];
  initial if (WCKMUX != "WCK" || WREMUX != "WRE") begin
    $display("TRELLIS_DPR16X4: not in a way that this model knows");
    $stop;
  end
endmodule

// A block RAM: port A writes and reads, port B reads, both at rising edges, no output register.
//
// Widths 9, 18 and 36. A row of 18 bits is two bytes of 9; its address is AD[13:4]. At width 9 AD[3] is the byte; at 18 AD[1:0]
// enable the bytes that are written; at 36 AD[13:5] is a pair of rows, whose upper one goes by DIB and DOB, and AD[3:0] enable bytes.
//
// Reading a row in the cycle that writes it gives nothing sure: here, the wrong word, as hdl/src/prims/ram.rs has it.
// Contents are random at power-up, as there: no memory of the NIC has any, and one that asks for them is refused.
module DP16KD(
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
  input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
  input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
  input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
  input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
  input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
  output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB", GSR = "DISABLED", INIT_DATA = "STATIC";
  parameter [319:0] INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0, INITVAL_04 = 0, INITVAL_05 = 0, INITVAL_06 = 0, INITVAL_07 = 0;
  parameter [319:0] INITVAL_08 = 0, INITVAL_09 = 0, INITVAL_0A = 0, INITVAL_0B = 0, INITVAL_0C = 0, INITVAL_0D = 0, INITVAL_0E = 0, INITVAL_0F = 0;
  parameter [319:0] INITVAL_10 = 0, INITVAL_11 = 0, INITVAL_12 = 0, INITVAL_13 = 0, INITVAL_14 = 0, INITVAL_15 = 0, INITVAL_16 = 0, INITVAL_17 = 0;
  parameter [319:0] INITVAL_18 = 0, INITVAL_19 = 0, INITVAL_1A = 0, INITVAL_1B = 0, INITVAL_1C = 0, INITVAL_1D = 0, INITVAL_1E = 0, INITVAL_1F = 0;
  parameter [319:0] INITVAL_20 = 0, INITVAL_21 = 0, INITVAL_22 = 0, INITVAL_23 = 0, INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0;
  parameter [319:0] INITVAL_28 = 0, INITVAL_29 = 0, INITVAL_2A = 0, INITVAL_2B = 0, INITVAL_2C = 0, INITVAL_2D = 0, INITVAL_2E = 0, INITVAL_2F = 0;
  parameter [319:0] INITVAL_30 = 0, INITVAL_31 = 0, INITVAL_32 = 0, INITVAL_33 = 0, INITVAL_34 = 0, INITVAL_35 = 0, INITVAL_36 = 0, INITVAL_37 = 0;
  parameter [319:0] INITVAL_38 = 0, INITVAL_39 = 0, INITVAL_3A = 0, INITVAL_3B = 0, INITVAL_3C = 0, INITVAL_3D = 0, INITVAL_3E = 0, INITVAL_3F = 0;

  wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
  wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  reg [17:0] own, low, high;
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = DATA_WIDTH_B == 36 ? low : own;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = high;

  // Rows of even and of odd number.
  reg [17:0] even [511:0];
  reg [17:0] odd [511:0];

  wire write = CEA && WEA;
  wire wide = DATA_WIDTH_A == 36;
  wire [1:0] enables = DATA_WIDTH_A == 9 ? {ada[3], !ada[3]} : ada[1:0];
  wire [1:0] even_enables = {2{write && (wide || !ada[4])}} & enables;
  wire [1:0] odd_enables = {2{write && (wide || ada[4])}} & (wide ? ada[3:2] : enables);
  wire [17:0] even_data = DATA_WIDTH_A == 9 ? {2{dia[8:0]}} : dia;
  wire [17:0] odd_data = wide ? dib : even_data;
  always @(posedge CLKA) begin
    if (even_enables[0]) even[ada[13:5]][8:0] <= even_data[8:0];
    if (even_enables[1]) even[ada[13:5]][17:9] <= even_data[17:9];
    if (odd_enables[0]) odd[ada[13:5]][8:0] <= odd_data[8:0];
    if (odd_enables[1]) odd[ada[13:5]][17:9] <= odd_data[17:9];
  end

  wire [17:0] own_row = ada[4] ? odd[ada[13:5]] : even[ada[13:5]];
  always @(posedge CLKA) if (CEA && (!WEA || WRITEMODE_A == "READBEFOREWRITE"))
    own <= DATA_WIDTH_A == 9 ? {9'd0, ada[3] ? own_row[17:9] : own_row[8:0]} : own_row;

  wire met = ada[13:5] == adb[13:5];
  wire [17:0] even_met = met ? {{9{even_enables[1]}}, {9{even_enables[0]}}} : 18'd0;
  wire [17:0] odd_met = met ? {{9{odd_enables[1]}}, {9{odd_enables[0]}}} : 18'd0;
  wire [17:0] even_row = even[adb[13:5]] ^ even_met;
  wire [17:0] odd_row = odd[adb[13:5]] ^ odd_met;
  wire [17:0] row = adb[4] ? odd_row : even_row;
  always @(posedge CLKB) if (CEB) begin
    low <= even_row;
    high <= odd_row;
    if (DATA_WIDTH_B != 36) high <= DATA_WIDTH_B == 9 ? {9'd0, adb[3] ? row[17:9] : row[8:0]} : row;
  end

  initial begin
    if ((DATA_WIDTH_A != 9 && DATA_WIDTH_A != 18 && DATA_WIDTH_A != 36)
        || (DATA_WIDTH_B != 9 && DATA_WIDTH_B != 18 && DATA_WIDTH_B != 36)
        || (WRITEMODE_A != "NORMAL" && WRITEMODE_A != "READBEFOREWRITE")
        || REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CLKAMUX != "CLKA" || CLKBMUX != "CLKB"
        || CSDECODE_A != "0b000" || CSDECODE_B != "0b000") begin
      $display("DP16KD: not in a way that this model knows");
      $stop;
    end
    if (INITVAL_00 != 0 || INITVAL_01 != 0 || INITVAL_02 != 0 || INITVAL_03 != 0 || INITVAL_04 != 0 || INITVAL_05 != 0 || INITVAL_06 != 0 || INITVAL_07 != 0 || INITVAL_08 != 0 || INITVAL_09 != 0 || INITVAL_0A != 0 || INITVAL_0B != 0 || INITVAL_0C != 0 || INITVAL_0D != 0 || INITVAL_0E != 0 || INITVAL_0F != 0 || INITVAL_10 != 0 || INITVAL_11 != 0 || INITVAL_12 != 0 || INITVAL_13 != 0 || INITVAL_14 != 0 || INITVAL_15 != 0 || INITVAL_16 != 0 || INITVAL_17 != 0 || INITVAL_18 != 0 || INITVAL_19 != 0 || INITVAL_1A != 0 || INITVAL_1B != 0 || INITVAL_1C != 0 || INITVAL_1D != 0 || INITVAL_1E != 0 || INITVAL_1F != 0 || INITVAL_20 != 0 || INITVAL_21 != 0 || INITVAL_22 != 0 || INITVAL_23 != 0 || INITVAL_24 != 0 || INITVAL_25 != 0 || INITVAL_26 != 0 || INITVAL_27 != 0 || INITVAL_28 != 0 || INITVAL_29 != 0 || INITVAL_2A != 0 || INITVAL_2B != 0 || INITVAL_2C != 0 || INITVAL_2D != 0 || INITVAL_2E != 0 || INITVAL_2F != 0 || INITVAL_30 != 0 || INITVAL_31 != 0 || INITVAL_32 != 0 || INITVAL_33 != 0 || INITVAL_34 != 0 || INITVAL_35 != 0 || INITVAL_36 != 0 || INITVAL_37 != 0 || INITVAL_38 != 0 || INITVAL_39 != 0 || INITVAL_3A != 0 || INITVAL_3B != 0 || INITVAL_3C != 0 || INITVAL_3D != 0 || INITVAL_3E != 0 || INITVAL_3F != 0) begin
      $display("DP16KD: with contents at power-up");
      $stop;
    end
  end
  always @(posedge CLKB) if (WEB || RSTA || RSTB || CSA2 || CSA1 || CSA0 || CSB2 || CSB1 || CSB0) begin
    $display("DP16KD: used in a way that this model does not know");
    $stop;
  end
endmodule
