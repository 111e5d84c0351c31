
.version 9.0
.target sm_90
.address_size 64

	// .globl	spmv

.visible .entry spmv(
	.param .u64 spmv_param_0,
	.param .u64 spmv_param_1,
	.param .u64 spmv_param_2,
	.param .u64 spmv_param_3,
	.param .u64 spmv_param_4,
	.param .u64 spmv_param_5,
	.param .u64 spmv_param_6,
	.param .u64 spmv_param_7,
	.param .u64 spmv_param_8,
	.param .u64 spmv_param_9,
	.param .u64 spmv_param_10,
	.param .u64 spmv_param_11,
	.param .u64 spmv_param_12,
	.param .u64 spmv_param_13,
	.param .u64 spmv_param_14,
	.param .u64 spmv_param_15,
	.param .u64 spmv_param_16,
	.param .u64 spmv_param_17,
	.param .u64 spmv_param_18,
	.param .f64 spmv_param_19,
	.param .f64 spmv_param_20
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<78>;
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<257>;
	.reg .f64 	%fd<201>;
	.reg .b64 	%rd<136>;
	// demoted variable
	.shared .align 16 .b8 _ZZ4spmvE6memory[36960];

	ld.param.u64 	%rd9, [spmv_param_0];
	ld.param.u64 	%rd10, [spmv_param_1];
	ld.param.u64 	%rd11, [spmv_param_2];
	ld.param.u64 	%rd12, [spmv_param_3];
	ld.param.u64 	%rd13, [spmv_param_5];
	ld.param.u64 	%rd14, [spmv_param_7];
	ld.param.u64 	%rd15, [spmv_param_11];
	ld.param.u64 	%rd17, [spmv_param_13];
	ld.param.u64 	%rd18, [spmv_param_14];
	ld.param.u64 	%rd19, [spmv_param_15];
	ld.param.u64 	%rd20, [spmv_param_16];
	ld.param.u64 	%rd21, [spmv_param_17];
	ld.param.u64 	%rd22, [spmv_param_18];
	ld.param.f64 	%fd63, [spmv_param_19];
	ld.param.f64 	%fd64, [spmv_param_20];
	mov.u32 	%r73, %ctaid.x;
	cvt.u64.u32 	%rd1, %r73;
	setp.lt.u64 	%p4, %rd1, %rd15;
	@%p4 bra 	$L__BB0_19;
	bra.uni 	$L__BB0_1;

$L__BB0_19:
	cvt.u32.u64 	%r89, %rd1;
	mov.u32 	%r90, %tid.x;
	and.b32  	%r255, %r90, 31;
	shr.u32 	%r92, %r90, 5;
	cvt.u64.u32 	%rd74, %r92;
	shl.b64 	%rd75, %rd1, 3;
	add.s64 	%rd76, %rd75, %rd74;
	shl.b64 	%rd77, %rd76, 9;
	cvt.u64.u32 	%rd78, %r255;
	or.b64  	%rd79, %rd77, %rd78;
	cvta.to.global.u64 	%rd80, %rd10;
	shl.b64 	%rd81, %rd79, 2;
	add.s64 	%rd82, %rd80, %rd81;
	ld.global.nc.u32 	%r93, [%rd82];
	cvta.to.global.u64 	%rd83, %rd9;
	shl.b64 	%rd84, %rd79, 3;
	add.s64 	%rd85, %rd83, %rd84;
	ld.global.nc.f64 	%fd77, [%rd85];
	mul.lo.s64 	%rd86, %rd76, -480;
	add.s64 	%rd87, %rd79, %rd86;
	shl.b64 	%rd88, %rd87, 2;
	add.s64 	%rd62, %rd11, %rd88;
	// begin inline asm
	ld.global.u32 %r83, [%rd62];
	// end inline asm
	shl.b64 	%rd89, %rd76, 2;
	add.s64 	%rd63, %rd12, %rd89;
	// begin inline asm
	ld.global.u32 %r84, [%rd63];
	// end inline asm
	add.s64 	%rd64, %rd63, 4;
	// begin inline asm
	ld.global.u32 %r85, [%rd64];
	// end inline asm
	sub.s32 	%r3, %r85, %r84;
	shl.b64 	%rd90, %rd1, 5;
	add.s64 	%rd65, %rd12, %rd90;
	// begin inline asm
	ld.global.u32 %r86, [%rd65];
	// end inline asm
	add.s64 	%rd66, %rd13, %rd75;
	// begin inline asm
	ld.global.u32 %r87, [%rd66];
	// end inline asm
	add.s64 	%rd67, %rd66, 4;
	// begin inline asm
	ld.global.u32 %r88, [%rd67];
	// end inline asm
	setp.ne.s32 	%p15, %r87, %r89;
	setp.eq.s32 	%p16, %r84, %r86;
	and.pred  	%p17, %p16, %p15;
	setp.ne.s32 	%p18, %r3, 0;
	setp.ne.s32 	%p19, %r88, %r89;
	setp.eq.s32 	%p20, %r92, 7;
	// begin inline asm
	griddepcontrol.wait;
	// end inline asm
	cvta.to.global.u64 	%rd91, %rd19;
	shl.b64 	%rd92, %rd20, 3;
	add.s64 	%rd68, %rd91, %rd92;
	// begin inline asm
	// end inline asm
	cvta.to.global.u64 	%rd93, %rd21;
	shl.b64 	%rd94, %rd22, 3;
	add.s64 	%rd70, %rd93, %rd94;
	// begin inline asm
	// end inline asm
	cvta.to.global.u64 	%rd72, %rd18;
	// begin inline asm
	// end inline asm
	mul.wide.u32 	%rd95, %r93, 8;
	add.s64 	%rd96, %rd68, %rd95;
	ld.global.nc.u32 	%r94, [%rd82+128];
	ld.global.nc.f64 	%fd78, [%rd85+256];
	ld.global.f64 	%fd79, [%rd96];
	mul.f64 	%fd80, %fd77, %fd79;
	shr.u32 	%r95, %r255, 3;
	and.b32  	%r96, %r95, 2;
	add.s32 	%r97, %r96, %r255;
	mov.u32 	%r98, _ZZ4spmvE6memory;
	mad.lo.s32 	%r99, %r92, 4608, %r98;
	shl.b32 	%r100, %r97, 3;
	add.s32 	%r101, %r99, %r100;
	st.shared.f64 	[%r101], %fd80;
	mul.wide.u32 	%rd97, %r94, 8;
	add.s64 	%rd98, %rd68, %rd97;
	ld.global.nc.u32 	%r102, [%rd82+256];
	ld.global.nc.f64 	%fd81, [%rd85+512];
	ld.global.f64 	%fd82, [%rd98];
	mul.f64 	%fd83, %fd78, %fd82;
	st.shared.f64 	[%r101+288], %fd83;
	mul.wide.u32 	%rd99, %r102, 8;
	add.s64 	%rd100, %rd68, %rd99;
	ld.global.nc.u32 	%r103, [%rd82+384];
	ld.global.nc.f64 	%fd84, [%rd85+768];
	ld.global.f64 	%fd85, [%rd100];
	mul.f64 	%fd86, %fd81, %fd85;
	st.shared.f64 	[%r101+576], %fd86;
	mul.wide.u32 	%rd101, %r103, 8;
	add.s64 	%rd102, %rd68, %rd101;
	ld.global.nc.u32 	%r104, [%rd82+512];
	ld.global.nc.f64 	%fd87, [%rd85+1024];
	ld.global.f64 	%fd88, [%rd102];
	mul.f64 	%fd89, %fd84, %fd88;
	st.shared.f64 	[%r101+864], %fd89;
	mul.wide.u32 	%rd103, %r104, 8;
	add.s64 	%rd104, %rd68, %rd103;
	ld.global.nc.u32 	%r105, [%rd82+640];
	ld.global.nc.f64 	%fd90, [%rd85+1280];
	ld.global.f64 	%fd91, [%rd104];
	mul.f64 	%fd92, %fd87, %fd91;
	st.shared.f64 	[%r101+1152], %fd92;
	mul.wide.u32 	%rd105, %r105, 8;
	add.s64 	%rd106, %rd68, %rd105;
	ld.global.nc.u32 	%r106, [%rd82+768];
	ld.global.nc.f64 	%fd93, [%rd85+1536];
	ld.global.f64 	%fd94, [%rd106];
	mul.f64 	%fd95, %fd90, %fd94;
	st.shared.f64 	[%r101+1440], %fd95;
	mul.wide.u32 	%rd107, %r106, 8;
	add.s64 	%rd108, %rd68, %rd107;
	ld.global.nc.u32 	%r107, [%rd82+896];
	ld.global.nc.f64 	%fd96, [%rd85+1792];
	ld.global.f64 	%fd97, [%rd108];
	mul.f64 	%fd98, %fd93, %fd97;
	st.shared.f64 	[%r101+1728], %fd98;
	mul.wide.u32 	%rd109, %r107, 8;
	add.s64 	%rd110, %rd68, %rd109;
	ld.global.nc.u32 	%r108, [%rd82+1024];
	ld.global.nc.f64 	%fd99, [%rd85+2048];
	ld.global.f64 	%fd100, [%rd110];
	mul.f64 	%fd101, %fd96, %fd100;
	st.shared.f64 	[%r101+2016], %fd101;
	mul.wide.u32 	%rd111, %r108, 8;
	add.s64 	%rd112, %rd68, %rd111;
	ld.global.nc.u32 	%r109, [%rd82+1152];
	ld.global.nc.f64 	%fd102, [%rd85+2304];
	ld.global.f64 	%fd103, [%rd112];
	mul.f64 	%fd104, %fd99, %fd103;
	st.shared.f64 	[%r101+2304], %fd104;
	mul.wide.u32 	%rd113, %r109, 8;
	add.s64 	%rd114, %rd68, %rd113;
	ld.global.nc.u32 	%r110, [%rd82+1280];
	ld.global.nc.f64 	%fd105, [%rd85+2560];
	ld.global.f64 	%fd106, [%rd114];
	mul.f64 	%fd107, %fd102, %fd106;
	st.shared.f64 	[%r101+2592], %fd107;
	mul.wide.u32 	%rd115, %r110, 8;
	add.s64 	%rd116, %rd68, %rd115;
	ld.global.nc.u32 	%r111, [%rd82+1408];
	ld.global.nc.f64 	%fd108, [%rd85+2816];
	ld.global.f64 	%fd109, [%rd116];
	mul.f64 	%fd110, %fd105, %fd109;
	st.shared.f64 	[%r101+2880], %fd110;
	mul.wide.u32 	%rd117, %r111, 8;
	add.s64 	%rd118, %rd68, %rd117;
	ld.global.nc.u32 	%r112, [%rd82+1536];
	ld.global.nc.f64 	%fd111, [%rd85+3072];
	ld.global.f64 	%fd112, [%rd118];
	mul.f64 	%fd113, %fd108, %fd112;
	st.shared.f64 	[%r101+3168], %fd113;
	mul.wide.u32 	%rd119, %r112, 8;
	add.s64 	%rd120, %rd68, %rd119;
	ld.global.nc.u32 	%r113, [%rd82+1664];
	ld.global.nc.f64 	%fd114, [%rd85+3328];
	ld.global.f64 	%fd115, [%rd120];
	mul.f64 	%fd116, %fd111, %fd115;
	st.shared.f64 	[%r101+3456], %fd116;
	mul.wide.u32 	%rd121, %r113, 8;
	add.s64 	%rd122, %rd68, %rd121;
	ld.global.nc.u32 	%r114, [%rd82+1792];
	ld.global.nc.f64 	%fd117, [%rd85+3584];
	ld.global.f64 	%fd118, [%rd122];
	mul.f64 	%fd119, %fd114, %fd118;
	st.shared.f64 	[%r101+3744], %fd119;
	mul.wide.u32 	%rd123, %r114, 8;
	add.s64 	%rd124, %rd68, %rd123;
	ld.global.nc.u32 	%r115, [%rd82+1920];
	ld.global.nc.f64 	%fd120, [%rd85+3840];
	ld.global.f64 	%fd121, [%rd124];
	mul.f64 	%fd122, %fd117, %fd121;
	st.shared.f64 	[%r101+4032], %fd122;
	mul.wide.u32 	%rd125, %r115, 8;
	add.s64 	%rd126, %rd68, %rd125;
	ld.global.f64 	%fd123, [%rd126];
	mul.f64 	%fd124, %fd120, %fd123;
	st.shared.f64 	[%r101+4320], %fd124;
	and.pred  	%p1, %p18, %p17;
	and.pred  	%p2, %p20, %p19;
	// begin inline asm
	bar.warp.sync 0xffffffff;
	// end inline asm
	mad.lo.s32 	%r116, %r255, 144, %r99;
	ld.shared.v2.f64 	{%fd125, %fd126}, [%r116];
	ld.shared.v2.f64 	{%fd127, %fd128}, [%r116+16];
	ld.shared.v2.f64 	{%fd129, %fd130}, [%r116+32];
	ld.shared.v2.f64 	{%fd131, %fd132}, [%r116+48];
	ld.shared.v2.f64 	{%fd133, %fd134}, [%r116+64];
	ld.shared.v2.f64 	{%fd135, %fd136}, [%r116+80];
	ld.shared.v2.f64 	{%fd137, %fd138}, [%r116+96];
	ld.shared.v2.f64 	{%fd139, %fd140}, [%r116+112];
	// begin inline asm
	bar.warp.sync 0xffffffff;
	// end inline asm
	shr.u32 	%r117, %r83, 13;
	and.b32  	%r118, %r117, 524280;
	add.s32 	%r6, %r99, %r118;
	add.f64 	%fd179, %fd125, 0d0000000000000000;
	and.b32  	%r119, %r83, 1;
	setp.eq.b32 	%p21, %r119, 1;
	mov.pred 	%p22, 0;
	xor.pred  	%p23, %p21, %p22;
	not.pred 	%p24, %p23;
	mov.u32 	%r230, %r6;
	@%p24 bra 	$L__BB0_21;

	add.s32 	%r230, %r6, 8;
	add.f64 	%fd142, %fd125, 0d0000000000000000;
	mov.f64 	%fd179, 0d0000000000000000;
	st.shared.f64 	[%r6], %fd142;

$L__BB0_21:
	add.f64 	%fd180, %fd179, %fd126;
	and.b32  	%r120, %r83, 2;
	setp.eq.s32 	%p25, %r120, 0;
	@%p25 bra 	$L__BB0_23;

	add.s32 	%r9, %r230, 8;
	st.shared.f64 	[%r230], %fd180;
	mov.f64 	%fd180, 0d0000000000000000;
	mov.u32 	%r230, %r9;

$L__BB0_23:
	add.f64 	%fd181, %fd180, %fd127;
	and.b32  	%r121, %r83, 4;
	setp.eq.s32 	%p26, %r121, 0;
	@%p26 bra 	$L__BB0_25;

	add.s32 	%r11, %r230, 8;
	st.shared.f64 	[%r230], %fd181;
	mov.f64 	%fd181, 0d0000000000000000;
	mov.u32 	%r230, %r11;

$L__BB0_25:
	add.f64 	%fd182, %fd181, %fd128;
	and.b32  	%r122, %r83, 8;
	setp.eq.s32 	%p27, %r122, 0;
	@%p27 bra 	$L__BB0_27;

	add.s32 	%r13, %r230, 8;
	st.shared.f64 	[%r230], %fd182;
	mov.f64 	%fd182, 0d0000000000000000;
	mov.u32 	%r230, %r13;

$L__BB0_27:
	add.f64 	%fd183, %fd182, %fd129;
	and.b32  	%r123, %r83, 16;
	setp.eq.s32 	%p28, %r123, 0;
	@%p28 bra 	$L__BB0_29;

	add.s32 	%r15, %r230, 8;
	st.shared.f64 	[%r230], %fd183;
	mov.f64 	%fd183, 0d0000000000000000;
	mov.u32 	%r230, %r15;

$L__BB0_29:
	add.f64 	%fd184, %fd183, %fd130;
	and.b32  	%r124, %r83, 32;
	setp.eq.s32 	%p29, %r124, 0;
	@%p29 bra 	$L__BB0_31;

	add.s32 	%r17, %r230, 8;
	st.shared.f64 	[%r230], %fd184;
	mov.f64 	%fd184, 0d0000000000000000;
	mov.u32 	%r230, %r17;

$L__BB0_31:
	add.f64 	%fd185, %fd184, %fd131;
	and.b32  	%r125, %r83, 64;
	setp.eq.s32 	%p30, %r125, 0;
	@%p30 bra 	$L__BB0_33;

	add.s32 	%r19, %r230, 8;
	st.shared.f64 	[%r230], %fd185;
	mov.f64 	%fd185, 0d0000000000000000;
	mov.u32 	%r230, %r19;

$L__BB0_33:
	add.f64 	%fd186, %fd185, %fd132;
	and.b32  	%r126, %r83, 128;
	setp.eq.s32 	%p31, %r126, 0;
	@%p31 bra 	$L__BB0_35;

	add.s32 	%r21, %r230, 8;
	st.shared.f64 	[%r230], %fd186;
	mov.f64 	%fd186, 0d0000000000000000;
	mov.u32 	%r230, %r21;

$L__BB0_35:
	add.f64 	%fd187, %fd186, %fd133;
	and.b32  	%r127, %r83, 256;
	setp.eq.s32 	%p32, %r127, 0;
	@%p32 bra 	$L__BB0_37;

	add.s32 	%r23, %r230, 8;
	st.shared.f64 	[%r230], %fd187;
	mov.f64 	%fd187, 0d0000000000000000;
	mov.u32 	%r230, %r23;

$L__BB0_37:
	add.f64 	%fd188, %fd187, %fd134;
	and.b32  	%r128, %r83, 512;
	setp.eq.s32 	%p33, %r128, 0;
	@%p33 bra 	$L__BB0_39;

	add.s32 	%r25, %r230, 8;
	st.shared.f64 	[%r230], %fd188;
	mov.f64 	%fd188, 0d0000000000000000;
	mov.u32 	%r230, %r25;

$L__BB0_39:
	add.f64 	%fd189, %fd188, %fd135;
	and.b32  	%r129, %r83, 1024;
	setp.eq.s32 	%p34, %r129, 0;
	@%p34 bra 	$L__BB0_41;

	add.s32 	%r27, %r230, 8;
	st.shared.f64 	[%r230], %fd189;
	mov.f64 	%fd189, 0d0000000000000000;
	mov.u32 	%r230, %r27;

$L__BB0_41:
	add.f64 	%fd190, %fd189, %fd136;
	and.b32  	%r130, %r83, 2048;
	setp.eq.s32 	%p35, %r130, 0;
	@%p35 bra 	$L__BB0_43;

	add.s32 	%r29, %r230, 8;
	st.shared.f64 	[%r230], %fd190;
	mov.f64 	%fd190, 0d0000000000000000;
	mov.u32 	%r230, %r29;

$L__BB0_43:
	add.f64 	%fd191, %fd190, %fd137;
	and.b32  	%r131, %r83, 4096;
	setp.eq.s32 	%p36, %r131, 0;
	@%p36 bra 	$L__BB0_45;

	add.s32 	%r31, %r230, 8;
	st.shared.f64 	[%r230], %fd191;
	mov.f64 	%fd191, 0d0000000000000000;
	mov.u32 	%r230, %r31;

$L__BB0_45:
	add.f64 	%fd192, %fd191, %fd138;
	and.b32  	%r132, %r83, 8192;
	setp.eq.s32 	%p37, %r132, 0;
	@%p37 bra 	$L__BB0_47;

	add.s32 	%r33, %r230, 8;
	st.shared.f64 	[%r230], %fd192;
	mov.f64 	%fd192, 0d0000000000000000;
	mov.u32 	%r230, %r33;

$L__BB0_47:
	add.f64 	%fd193, %fd192, %fd139;
	and.b32  	%r133, %r83, 16384;
	setp.eq.s32 	%p38, %r133, 0;
	@%p38 bra 	$L__BB0_49;

	add.s32 	%r35, %r230, 8;
	st.shared.f64 	[%r230], %fd193;
	mov.f64 	%fd193, 0d0000000000000000;
	mov.u32 	%r230, %r35;

$L__BB0_49:
	add.f64 	%fd196, %fd193, %fd140;
	cvt.u16.u32 	%rs1, %r83;
	setp.gt.s16 	%p39, %rs1, -1;
	@%p39 bra 	$L__BB0_51;

	st.shared.f64 	[%r230], %fd196;
	mov.f64 	%fd196, 0d0000000000000000;

$L__BB0_51:
	and.b32  	%r216, %r83, 65535;
	setp.ne.s32 	%p40, %r216, 0;
	selp.u32 	%r135, 1, 0, %p40;
	// begin inline asm
	{ .reg .pred q; setp.ne.u32 q, %r135, 0; vote.sync.ballot.b32 %r134, q, 0xffffffff; }
	// end inline asm
	setp.eq.s32 	%p41, %r134, -1;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r248, %temp}, %fd196;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r249}, %fd196;
	}
	@%p41 bra 	$L__BB0_54;

	xor.b32  	%r138, %r255, 31;
	mov.u32 	%r139, 31;
	mov.u32 	%r140, -1;
	shr.u32 	%r141, %r140, %r138;
	and.b32  	%r142, %r134, %r141;
	not.b32 	%r247, %r134;
	clz.b32 	%r143, %r142;
	sub.s32 	%r144, %r139, %r143;
	setp.eq.s32 	%p42, %r142, 0;
	selp.b32 	%r42, 0, %r144, %p42;
	mov.u32 	%r246, 1;

$L__BB0_53:
	// begin inline asm
	shfl.sync.up.b32 %r145, %r248, %r246, 0, 0xffffffff;
	// end inline asm
	// begin inline asm
	shfl.sync.up.b32 %r148, %r249, %r246, 0, 0xffffffff;
	// end inline asm
	mov.b64 	%fd158, {%r145, %r148};
	add.s32 	%r151, %r246, %r42;
	setp.lt.u32 	%p43, %r255, %r151;
	add.f64 	%fd159, %fd196, %fd158;
	selp.f64 	%fd196, %fd196, %fd159, %p43;
	shl.b32 	%r152, %r247, %r246;
	and.b32  	%r247, %r152, %r247;
	shl.b32 	%r246, %r246, 1;
	setp.lt.u32 	%p44, %r246, 32;
	setp.ne.s32 	%p45, %r247, 0;
	and.pred  	%p46, %p45, %p44;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r248, %temp}, %fd196;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r249}, %fd196;
	}
	@%p46 bra 	$L__BB0_53;

$L__BB0_54:
	and.b32  	%r217, %r83, 65535;
	mov.u32 	%r158, 1;
	// begin inline asm
	shfl.sync.up.b32 %r153, %r248, %r158, 0, 0xffffffff;
	// end inline asm
	// begin inline asm
	shfl.sync.up.b32 %r156, %r249, %r158, 0, 0xffffffff;
	// end inline asm
	mov.b64 	%fd52, {%r153, %r156};
	setp.eq.s32 	%p47, %r217, 0;
	@%p47 bra 	$L__BB0_56;

	mov.u32 	%r218, %tid.x;
	ld.shared.f64 	%fd160, [%r6];
	and.b32  	%r160, %r218, 31;
	setp.eq.s32 	%p48, %r160, 0;
	selp.f64 	%fd161, 0d0000000000000000, %fd52, %p48;
	add.f64 	%fd162, %fd161, %fd160;
	st.shared.f64 	[%r6], %fd162;

$L__BB0_56:
	setp.ne.s32 	%p49, %r255, 31;
	@%p49 bra 	$L__BB0_58;

	mov.u32 	%r228, _ZZ4spmvE6memory;
	shl.b32 	%r165, %r92, 3;
	add.s32 	%r167, %r228, %r165;
	st.shared.f64 	[%r167+36864], %fd196;
	setp.ne.s32 	%p50, %r134, 0;
	selp.u32 	%r168, 1, 0, %p50;
	shl.b32 	%r169, %r92, 2;
	add.s32 	%r170, %r228, %r169;
	st.shared.u32 	[%r170+36928], %r168;

$L__BB0_58:
	bar.sync 	0;
	setp.ge.u32 	%p51, %r255, %r92;
	mov.u32 	%r250, 0;
	@%p51 bra 	$L__BB0_60;

	mov.u32 	%r227, _ZZ4spmvE6memory;
	mov.u32 	%r226, %tid.x;
	shl.b32 	%r175, %r226, 2;
	and.b32  	%r176, %r175, 28;
	add.s32 	%r178, %r227, %r176;
	ld.shared.u32 	%r179, [%r178+36928];
	setp.ne.s32 	%p52, %r179, 0;
	selp.u32 	%r250, 1, 0, %p52;

$L__BB0_60:
	// begin inline asm
	{ .reg .pred q; setp.ne.u32 q, %r250, 0; vote.sync.ballot.b32 %r180, q, 0xffffffff; }
	// end inline asm
	setp.eq.s32 	%p53, %r180, 0;
	clz.b32 	%r182, %r180;
	mov.u32 	%r183, 31;
	sub.s32 	%r184, %r183, %r182;
	selp.b32 	%r252, 0, %r184, %p53;
	setp.ge.u32 	%p54, %r252, %r92;
	mov.f64 	%fd198, 0d0000000000000000;
	@%p54 bra 	$L__BB0_63;

	mov.u32 	%r225, _ZZ4spmvE6memory;
	shl.b32 	%r187, %r252, 3;
	add.s32 	%r189, %r225, %r187;
	add.s32 	%r251, %r189, 36864;
	mov.f64 	%fd198, 0d0000000000000000;

$L__BB0_62:
	.pragma "nounroll";
	ld.shared.f64 	%fd165, [%r251];
	add.f64 	%fd198, %fd198, %fd165;
	add.s32 	%r251, %r251, 8;
	add.s32 	%r252, %r252, 1;
	setp.lt.u32 	%p55, %r252, %r92;
	@%p55 bra 	$L__BB0_62;

$L__BB0_63:
	ld.param.u64 	%rd135, [spmv_param_12];
	setp.eq.s64 	%p56, %rd135, 0;
	@%p56 bra 	$L__BB0_68;

	mov.u32 	%r219, %tid.x;
	and.b32  	%r191, %r219, 31;
	setp.ne.s32 	%p57, %r191, 0;
	not.pred 	%p58, %p1;
	or.pred  	%p59, %p57, %p58;
	@%p59 bra 	$L__BB0_66;

	mov.u32 	%r221, %ctaid.x;
	ld.shared.f64 	%fd166, [%r99];
	add.f64 	%fd167, %fd198, %fd166;
	mul.wide.u32 	%rd127, %r221, 2;
	shl.b64 	%rd128, %rd127, 3;
	add.s64 	%rd129, %rd72, %rd128;
	st.global.f64 	[%rd129], %fd167;

$L__BB0_66:
	setp.ne.s32 	%p60, %r191, 31;
	not.pred 	%p61, %p2;
	or.pred  	%p62, %p60, %p61;
	@%p62 bra 	$L__BB0_68;

	mov.u32 	%r220, %ctaid.x;
	add.f64 	%fd168, %fd196, %fd198;
	setp.eq.s32 	%p63, %r134, 0;
	selp.f64 	%fd169, %fd168, %fd196, %p63;
	mul.wide.u32 	%rd130, %r220, 2;
	shl.b64 	%rd131, %rd130, 3;
	add.s64 	%rd132, %rd72, %rd131;
	st.global.f64 	[%rd132+8], %fd169;

$L__BB0_68:
	setp.ge.u32 	%p64, %r255, %r3;
	@%p64 bra 	$L__BB0_82;

	not.pred 	%p3, %p1;
	add.s32 	%r62, %r84, 32;
	setp.neu.f64 	%p65, %fd64, 0d0000000000000000;
	@%p65 bra 	$L__BB0_76;
	bra.uni 	$L__BB0_70;

$L__BB0_76:
	add.s32 	%r256, %r84, %r255;
	not.pred 	%p73, %p3;

$L__BB0_77:
	.pragma "nounroll";
	setp.eq.s32 	%p72, %r255, 0;
	and.pred  	%p74, %p72, %p73;
	@%p74 bra 	$L__BB0_81;

	mul.wide.u32 	%rd134, %r256, 8;
	add.s64 	%rd8, %rd70, %rd134;
	shl.b32 	%r214, %r255, 3;
	add.s32 	%r215, %r99, %r214;
	ld.shared.f64 	%fd177, [%r215];
	add.f64 	%fd178, %fd198, %fd177;
	selp.f64 	%fd59, %fd178, %fd177, %p72;
	ld.global.f64 	%fd176, [%rd8];
	// begin inline asm
	mul.rn.f64 %fd200, %fd64, %fd176;
	// end inline asm
	setp.eq.f64 	%p76, %fd59, 0d0000000000000000;
	@%p76 bra 	$L__BB0_80;

	fma.rn.f64 	%fd200, %fd63, %fd59, %fd200;

$L__BB0_80:
	st.global.f64 	[%rd8], %fd200;

$L__BB0_81:
	add.s32 	%r71, %r255, 32;
	setp.lt.u32 	%p77, %r71, %r3;
	add.s32 	%r256, %r62, %r255;
	mov.u32 	%r255, %r71;
	@%p77 bra 	$L__BB0_77;
	bra.uni 	$L__BB0_82;

$L__BB0_1:
	cvta.to.global.u64 	%rd27, %rd19;
	shl.b64 	%rd28, %rd20, 3;
	add.s64 	%rd23, %rd27, %rd28;
	cvta.to.global.u64 	%rd29, %rd21;
	shl.b64 	%rd30, %rd22, 3;
	add.s64 	%rd25, %rd29, %rd30;
	// begin inline asm
	griddepcontrol.wait;
	// end inline asm
	// begin inline asm
	// end inline asm
	// begin inline asm
	// end inline asm
	sub.s64 	%rd31, %rd1, %rd15;
	shl.b64 	%rd32, %rd31, 10;
	mov.u32 	%r74, %tid.x;
	cvt.u64.u32 	%rd33, %r74;
	add.s64 	%rd3, %rd32, %rd33;
	setp.eq.f64 	%p5, %fd64, 0d3FF0000000000000;
	@%p5 bra 	$L__BB0_82;

	setp.neu.f64 	%p6, %fd64, 0d0000000000000000;
	cvta.to.global.u64 	%rd34, %rd14;
	shl.b64 	%rd35, %rd3, 2;
	add.s64 	%rd4, %rd34, %rd35;
	@%p6 bra 	$L__BB0_11;
	bra.uni 	$L__BB0_3;

$L__BB0_11:
	setp.ge.u64 	%p11, %rd3, %rd17;
	@%p11 bra 	$L__BB0_13;

	ld.global.nc.u32 	%r79, [%rd4];
	mul.wide.u32 	%rd51, %r79, 8;
	add.s64 	%rd52, %rd25, %rd51;
	ld.global.f64 	%fd67, [%rd52];
	// begin inline asm
	mul.rn.f64 %fd65, %fd64, %fd67;
	// end inline asm
	st.global.f64 	[%rd52], %fd65;

$L__BB0_13:
	add.s64 	%rd53, %rd3, 256;
	setp.ge.u64 	%p12, %rd53, %rd17;
	@%p12 bra 	$L__BB0_15;

	ld.global.nc.u32 	%r80, [%rd4+1024];
	mul.wide.u32 	%rd54, %r80, 8;
	add.s64 	%rd55, %rd25, %rd54;
	ld.global.f64 	%fd70, [%rd55];
	// begin inline asm
	mul.rn.f64 %fd68, %fd64, %fd70;
	// end inline asm
	st.global.f64 	[%rd55], %fd68;

$L__BB0_15:
	add.s64 	%rd56, %rd3, 512;
	setp.ge.u64 	%p13, %rd56, %rd17;
	@%p13 bra 	$L__BB0_17;

	ld.global.nc.u32 	%r81, [%rd4+2048];
	mul.wide.u32 	%rd57, %r81, 8;
	add.s64 	%rd58, %rd25, %rd57;
	ld.global.f64 	%fd73, [%rd58];
	// begin inline asm
	mul.rn.f64 %fd71, %fd64, %fd73;
	// end inline asm
	st.global.f64 	[%rd58], %fd71;

$L__BB0_17:
	add.s64 	%rd59, %rd3, 768;
	setp.ge.u64 	%p14, %rd59, %rd17;
	@%p14 bra 	$L__BB0_82;

	ld.global.nc.u32 	%r82, [%rd4+3072];
	mul.wide.u32 	%rd60, %r82, 8;
	add.s64 	%rd61, %rd25, %rd60;
	ld.global.f64 	%fd76, [%rd61];
	// begin inline asm
	mul.rn.f64 %fd74, %fd64, %fd76;
	// end inline asm
	st.global.f64 	[%rd61], %fd74;
	bra.uni 	$L__BB0_82;

$L__BB0_3:
	setp.ge.u64 	%p7, %rd3, %rd17;
	@%p7 bra 	$L__BB0_5;

	ld.global.nc.u32 	%r75, [%rd4];
	mul.wide.u32 	%rd36, %r75, 8;
	add.s64 	%rd37, %rd25, %rd36;
	mov.u64 	%rd38, 0;
	st.global.u64 	[%rd37], %rd38;

$L__BB0_5:
	add.s64 	%rd39, %rd3, 256;
	setp.ge.u64 	%p8, %rd39, %rd17;
	@%p8 bra 	$L__BB0_7;

	ld.global.nc.u32 	%r76, [%rd4+1024];
	mul.wide.u32 	%rd40, %r76, 8;
	add.s64 	%rd41, %rd25, %rd40;
	mov.u64 	%rd42, 0;
	st.global.u64 	[%rd41], %rd42;

$L__BB0_7:
	add.s64 	%rd43, %rd3, 512;
	setp.ge.u64 	%p9, %rd43, %rd17;
	@%p9 bra 	$L__BB0_9;

	ld.global.nc.u32 	%r77, [%rd4+2048];
	mul.wide.u32 	%rd44, %r77, 8;
	add.s64 	%rd45, %rd25, %rd44;
	mov.u64 	%rd46, 0;
	st.global.u64 	[%rd45], %rd46;

$L__BB0_9:
	add.s64 	%rd47, %rd3, 768;
	setp.ge.u64 	%p10, %rd47, %rd17;
	@%p10 bra 	$L__BB0_82;

	ld.global.nc.u32 	%r78, [%rd4+3072];
	mul.wide.u32 	%rd48, %r78, 8;
	add.s64 	%rd49, %rd25, %rd48;
	mov.u64 	%rd50, 0;
	st.global.u64 	[%rd49], %rd50;
	bra.uni 	$L__BB0_82;

$L__BB0_70:
	add.s32 	%r254, %r84, %r255;
	mov.u32 	%r222, %tid.x;
	and.b32  	%r253, %r222, 31;
	not.pred 	%p67, %p3;

$L__BB0_71:
	.pragma "nounroll";
	setp.eq.s32 	%p66, %r253, 0;
	and.pred  	%p68, %p66, %p67;
	@%p68 bra 	$L__BB0_75;

	mul.wide.u32 	%rd133, %r254, 8;
	add.s64 	%rd7, %rd70, %rd133;
	shl.b32 	%r207, %r253, 3;
	add.s32 	%r208, %r99, %r207;
	ld.shared.f64 	%fd171, [%r208];
	add.f64 	%fd172, %fd198, %fd171;
	selp.f64 	%fd56, %fd172, %fd171, %p66;
	setp.eq.f64 	%p70, %fd56, 0d0000000000000000;
	mov.f64 	%fd199, 0d0000000000000000;
	@%p70 bra 	$L__BB0_74;

	mov.f64 	%fd173, 0d0000000000000000;
	fma.rn.f64 	%fd199, %fd63, %fd56, %fd173;

$L__BB0_74:
	st.global.f64 	[%rd7], %fd199;

$L__BB0_75:
	add.s32 	%r66, %r253, 32;
	setp.lt.u32 	%p71, %r66, %r3;
	add.s32 	%r254, %r62, %r253;
	mov.u32 	%r253, %r66;
	@%p71 bra 	$L__BB0_71;

$L__BB0_82:
	ret;

}
	// .globl	finish
.visible .entry finish(
	.param .u64 finish_param_0,
	.param .u64 finish_param_1,
	.param .u64 finish_param_2,
	.param .u64 finish_param_3,
	.param .u64 finish_param_4,
	.param .u64 finish_param_5,
	.param .u64 finish_param_6,
	.param .u64 finish_param_7,
	.param .u64 finish_param_8,
	.param .u64 finish_param_9,
	.param .u64 finish_param_10,
	.param .u64 finish_param_11,
	.param .u64 finish_param_12,
	.param .u64 finish_param_13,
	.param .u64 finish_param_14,
	.param .u64 finish_param_15,
	.param .u64 finish_param_16,
	.param .u64 finish_param_17,
	.param .u64 finish_param_18,
	.param .f64 finish_param_19,
	.param .f64 finish_param_20
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<15>;
	.reg .b32 	%r<14>;
	.reg .f64 	%fd<46>;
	.reg .b64 	%rd<39>;
	// demoted variable
	.shared .align 8 .b8 _ZZ6finishE7partial[2048];

	ld.param.u64 	%rd5, [finish_param_3];
	ld.param.u64 	%rd12, [finish_param_5];
	ld.param.u64 	%rd13, [finish_param_6];
	ld.param.u64 	%rd14, [finish_param_14];
	ld.param.u64 	%rd15, [finish_param_15];
	ld.param.u64 	%rd16, [finish_param_16];
	ld.param.u64 	%rd17, [finish_param_17];
	ld.param.u64 	%rd18, [finish_param_18];
	ld.param.f64 	%fd9, [finish_param_19];
	ld.param.f64 	%fd10, [finish_param_20];
	mov.u32 	%r6, %ctaid.x;
	cvta.to.global.u64 	%rd19, %rd13;
	mul.wide.u32 	%rd20, %r6, 4;
	add.s64 	%rd21, %rd19, %rd20;
	ld.global.nc.u32 	%r7, [%rd21];
	mul.wide.u32 	%rd22, %r7, 2;
	cvta.to.global.u64 	%rd23, %rd12;
	shl.b64 	%rd24, %rd22, 2;
	add.s64 	%rd25, %rd23, %rd24;
	ld.global.nc.u32 	%r8, [%rd25+4];
	cvt.u64.u32 	%rd1, %r8;
	// begin inline asm
	griddepcontrol.wait;
	// end inline asm
	cvta.to.global.u64 	%rd26, %rd15;
	shl.b64 	%rd27, %rd16, 3;
	add.s64 	%rd6, %rd26, %rd27;
	// begin inline asm
	// end inline asm
	cvta.to.global.u64 	%rd28, %rd17;
	shl.b64 	%rd29, %rd18, 3;
	add.s64 	%rd8, %rd28, %rd29;
	// begin inline asm
	// end inline asm
	cvta.to.global.u64 	%rd10, %rd14;
	// begin inline asm
	// end inline asm
	mov.u32 	%r1, %tid.x;
	add.s32 	%r13, %r7, %r1;
	setp.gt.u32 	%p1, %r13, %r8;
	mov.f64 	%fd43, 0d0000000000000000;
	@%p1 bra 	$L__BB1_3;

	mov.f64 	%fd43, 0d0000000000000000;

$L__BB1_2:
	cvt.u32.u64 	%r9, %rd1;
	setp.lt.u32 	%p2, %r13, %r9;
	selp.u64 	%rd30, 1, 0, %p2;
	cvt.u64.u32 	%rd31, %r13;
	bfi.b64 	%rd32, %rd31, %rd30, 1, 32;
	shl.b64 	%rd33, %rd32, 3;
	add.s64 	%rd34, %rd10, %rd33;
	ld.global.f64 	%fd13, [%rd34];
	add.f64 	%fd43, %fd43, %fd13;
	add.s32 	%r13, %r13, 256;
	setp.le.u32 	%p3, %r13, %r9;
	@%p3 bra 	$L__BB1_2;

$L__BB1_3:
	shl.b32 	%r10, %r1, 3;
	mov.u32 	%r11, _ZZ6finishE7partial;
	add.s32 	%r5, %r11, %r10;
	st.shared.f64 	[%r5], %fd43;
	bar.sync 	0;
	setp.gt.u32 	%p4, %r1, 127;
	@%p4 bra 	$L__BB1_5;

	ld.shared.f64 	%fd14, [%r5];
	ld.shared.f64 	%fd15, [%r5+1024];
	add.f64 	%fd16, %fd15, %fd14;
	st.shared.f64 	[%r5], %fd16;

$L__BB1_5:
	bar.sync 	0;
	setp.gt.u32 	%p5, %r1, 63;
	@%p5 bra 	$L__BB1_7;

	ld.shared.f64 	%fd17, [%r5];
	ld.shared.f64 	%fd18, [%r5+512];
	add.f64 	%fd19, %fd18, %fd17;
	st.shared.f64 	[%r5], %fd19;

$L__BB1_7:
	bar.sync 	0;
	setp.gt.u32 	%p6, %r1, 31;
	@%p6 bra 	$L__BB1_9;

	ld.shared.f64 	%fd20, [%r5];
	ld.shared.f64 	%fd21, [%r5+256];
	add.f64 	%fd22, %fd21, %fd20;
	st.shared.f64 	[%r5], %fd22;

$L__BB1_9:
	bar.sync 	0;
	setp.gt.u32 	%p7, %r1, 15;
	@%p7 bra 	$L__BB1_11;

	ld.shared.f64 	%fd23, [%r5];
	ld.shared.f64 	%fd24, [%r5+128];
	add.f64 	%fd25, %fd24, %fd23;
	st.shared.f64 	[%r5], %fd25;

$L__BB1_11:
	bar.sync 	0;
	setp.gt.u32 	%p8, %r1, 7;
	@%p8 bra 	$L__BB1_13;

	ld.shared.f64 	%fd26, [%r5];
	ld.shared.f64 	%fd27, [%r5+64];
	add.f64 	%fd28, %fd27, %fd26;
	st.shared.f64 	[%r5], %fd28;

$L__BB1_13:
	bar.sync 	0;
	setp.gt.u32 	%p9, %r1, 3;
	@%p9 bra 	$L__BB1_15;

	ld.shared.f64 	%fd29, [%r5];
	ld.shared.f64 	%fd30, [%r5+32];
	add.f64 	%fd31, %fd30, %fd29;
	st.shared.f64 	[%r5], %fd31;

$L__BB1_15:
	bar.sync 	0;
	setp.gt.u32 	%p10, %r1, 1;
	@%p10 bra 	$L__BB1_17;

	ld.shared.f64 	%fd32, [%r5];
	ld.shared.f64 	%fd33, [%r5+16];
	add.f64 	%fd34, %fd33, %fd32;
	st.shared.f64 	[%r5], %fd34;

$L__BB1_17:
	bar.sync 	0;
	setp.ne.s32 	%p11, %r1, 0;
	@%p11 bra 	$L__BB1_19;

	ld.shared.f64 	%fd35, [_ZZ6finishE7partial+8];
	ld.shared.f64 	%fd36, [%r5];
	add.f64 	%fd37, %fd35, %fd36;
	st.shared.f64 	[%r5], %fd37;

$L__BB1_19:
	bar.sync 	0;
	@%p11 bra 	$L__BB1_25;

	cvta.to.global.u64 	%rd35, %rd5;
	shl.b64 	%rd36, %rd1, 5;
	add.s64 	%rd37, %rd35, %rd36;
	ld.global.nc.u32 	%r12, [%rd37];
	mul.wide.u32 	%rd38, %r12, 8;
	add.s64 	%rd4, %rd8, %rd38;
	ld.shared.f64 	%fd4, [_ZZ6finishE7partial];
	setp.eq.f64 	%p13, %fd10, 0d0000000000000000;
	mov.f64 	%fd45, 0d0000000000000000;
	@%p13 bra 	$L__BB1_22;

	ld.global.f64 	%fd41, [%rd4];
	// begin inline asm
	mul.rn.f64 %fd45, %fd10, %fd41;
	// end inline asm

$L__BB1_22:
	setp.eq.f64 	%p14, %fd4, 0d0000000000000000;
	@%p14 bra 	$L__BB1_24;

	fma.rn.f64 	%fd45, %fd9, %fd4, %fd45;

$L__BB1_24:
	st.global.f64 	[%rd4], %fd45;

$L__BB1_25:
	ret;

}
	// .globl	scale
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .u64 scale_param_1,
	.param .u64 scale_param_2,
	.param .u64 scale_param_3,
	.param .u64 scale_param_4,
	.param .f64 scale_param_5,
	.param .f64 scale_param_6
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<3>;
	.reg .f64 	%fd<5>;
	.reg .b64 	%rd<22>;


	ld.param.u64 	%rd8, [scale_param_0];
	ld.param.u64 	%rd9, [scale_param_1];
	ld.param.u64 	%rd10, [scale_param_2];
	ld.param.u64 	%rd11, [scale_param_3];
	ld.param.u64 	%rd12, [scale_param_4];
	ld.param.f64 	%fd1, [scale_param_6];
	mov.u32 	%r1, %ctaid.x;
	mul.wide.u32 	%rd13, %r1, 256;
	mov.u32 	%r2, %tid.x;
	cvt.u64.u32 	%rd14, %r2;
	add.s64 	%rd1, %rd13, %rd14;
	// begin inline asm
	griddepcontrol.wait;
	// end inline asm
	cvta.to.global.u64 	%rd15, %rd9;
	shl.b64 	%rd16, %rd10, 3;
	add.s64 	%rd4, %rd15, %rd16;
	// begin inline asm
	// end inline asm
	cvta.to.global.u64 	%rd17, %rd11;
	shl.b64 	%rd18, %rd12, 3;
	add.s64 	%rd6, %rd17, %rd18;
	// begin inline asm
	// end inline asm
	setp.ge.u64 	%p1, %rd1, %rd8;
	@%p1 bra 	$L__BB2_4;

	shl.b64 	%rd19, %rd1, 3;
	and.b64  	%rd20, %rd19, 34359738360;
	add.s64 	%rd3, %rd6, %rd20;
	setp.neu.f64 	%p2, %fd1, 0d0000000000000000;
	@%p2 bra 	$L__BB2_3;
	bra.uni 	$L__BB2_2;

$L__BB2_3:
	ld.global.f64 	%fd4, [%rd3];
	// begin inline asm
	mul.rn.f64 %fd2, %fd1, %fd4;
	// end inline asm
	st.global.f64 	[%rd3], %fd2;
	bra.uni 	$L__BB2_4;

$L__BB2_2:
	mov.u64 	%rd21, 0;
	st.global.u64 	[%rd3], %rd21;

$L__BB2_4:
	ret;

}

