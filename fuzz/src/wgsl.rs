//! Random WGSL: well-typed fragment shaders made of arbitrary bytes, run by native code and by the interpreter.
//!
//! ```text
//! bytes ─ Unstructured ─► types, expressions, statements ─► a fragment shader ─► both back ends ─► the same texels, to the bit
//! ```
//!
//! Rules: no expression is constant, for what constants may not do is an error of the language (every literal is an element of
//! a private array); NaNs are one class (law L1), so bits of a float are looked at only after `canon`; loops end.

use arbitrary::{Result, Unstructured};
use quadrille::*;
use std::fmt::Write as _;

const SCALARS: [&str; 4] = ["f32", "i32", "u32", "bool"];

/// A scalar (`width` 1) or a vector of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ty {
    scalar: usize,
    width: usize,
}

const F32: usize = 0;
const I32: usize = 1;
const U32: usize = 2;
const BOOL: usize = 3;

fn of(scalar: usize) -> Ty {
    Ty { scalar, width: 1 }
}

impl Ty {
    fn name(self) -> String {
        match self.width {
            1 => SCALARS[self.scalar].into(),
            n => format!("vec{n}<{}>", SCALARS[self.scalar]),
        }
    }

    fn with(self, scalar: usize) -> Ty {
        Ty { scalar, ..self }
    }
}

struct Variable {
    name: String,
    ty: Ty,
    mutable: bool,
}

/// A function that others may call.
struct Callee {
    name: String,
    parameters: Vec<Ty>,
    result: Ty,
}

struct Generator<'u, 'd> {
    u: &'u mut Unstructured<'d>,
    text: String,
    scope: Vec<Variable>,
    callees: Vec<Callee>,
    names: usize,
    loops: usize,
    /// Statements that may still be made.
    left: usize,
    result: Ty,
    entry: bool,
}

const HEAD: &str = "diagnostic(off, derivative_uniformity);
@group(0) @binding(0) var<storage, read> data: array<u32, 64>;
var<private> kf: array<f32, 8> = array(0.0, 1.0, -1.0, 0.5, 3.25, -127.0, 1e20, 1e-20);
var<private> ki: array<i32, 8> = array(0, 1, -1, 2, 31, 1000, -2147483647, 2147483647);
var<private> ku: array<u32, 8> = array(0u, 1u, 2u, 7u, 31u, 255u, 65536u, 4294967295u);
var<private> kb: array<bool, 2> = array(false, true);
fn canon(x: f32) -> u32 { return select(bitcast<u32>(x), 0x7fc00000u, x != x); }
struct Vertex { @builtin(position) position: vec4<f32>, @location(0) a: vec4<f32>, @location(1) @interpolate(flat) b: vec3<i32> }
@vertex fn vs(@builtin(vertex_index) i: u32) -> Vertex {
  let x = f32(i & 1u); let y = f32(i >> 1u);
  return Vertex(vec4<f32>(x * 4.0 - 1.0, y * 4.0 - 1.0, 0.5, 1.0 + x * 0.5), vec4<f32>(x, y * 3.0 - 1.0, x - y * 8.0, 2.5), vec3<i32>(-3, 7, 40000));
}
";

impl Generator<'_, '_> {
    fn below(&mut self, n: usize) -> Result<usize> {
        self.u.choose_index(n)
    }

    fn chance(&mut self, percent: u8) -> Result<bool> {
        Ok(self.u.int_in_range(0..=99)? < percent)
    }

    fn ty(&mut self) -> Result<Ty> {
        let scalar = [F32, F32, F32, I32, U32, U32, BOOL][self.below(7)?];
        let width = [1, 1, 1, 2, 3, 4][self.below(6)?];
        Ok(Ty { scalar, width })
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// Something without operands.
    fn leaf(&mut self, ty: Ty) -> Result<String> {
        let fitting: Vec<usize> = (0..self.scope.len()).filter(|&i| self.scope[i].ty == ty).collect();
        if !fitting.is_empty() && self.chance(75)? {
            let i = fitting[self.below(fitting.len())?];
            return Ok(self.scope[i].name.clone());
        }
        let scalar = match ty.scalar {
            F32 => format!("kf[{}]", self.below(8)?),
            I32 => format!("ki[{}]", self.below(8)?),
            U32 if self.chance(40)? => format!("data[{}]", self.below(64)?),
            U32 => format!("ku[{}]", self.below(8)?),
            _ => format!("kb[{}]", self.below(2)?),
        };
        Ok(match ty.width {
            1 => scalar,
            _ => format!("{}({scalar})", ty.name()),
        })
    }

    fn expression(&mut self, ty: Ty, depth: usize) -> Result<String> {
        if depth == 0 || self.u.is_empty() {
            return self.leaf(ty);
        }
        let d = depth - 1;
        if ty.width > 1 && self.chance(25)? {
            let parts: Result<Vec<_>> = (0..ty.width).map(|_| self.expression(of(ty.scalar), d)).collect();
            return Ok(format!("{}({})", ty.name(), parts?.join(", ")));
        }
        if ty.width < 4 && self.chance(12)? {
            let from = self.expression(Ty { width: 4, ..ty }, d)?;
            let letters: Result<String> = (0..ty.width)
                .map(|_| Ok(['x', 'y', 'z', 'w'][self.below(4)?]))
                .collect();
            return Ok(format!("({from}).{}", letters?));
        }
        if self.chance(10)? {
            let fitting: Vec<usize> = (0..self.callees.len())
                .filter(|&i| self.callees[i].result == ty)
                .collect();
            if !fitting.is_empty() {
                let callee = fitting[self.below(fitting.len())?];
                let parameters = self.callees[callee].parameters.clone();
                let args: Result<Vec<_>> = parameters.iter().map(|&p| self.expression(p, d)).collect();
                return Ok(format!("{}({})", self.callees[callee].name, args?.join(", ")));
            }
        }
        if self.chance(10)? {
            let (a, b) = (self.expression(ty, d)?, self.expression(ty, d)?);
            let c = if self.chance(50)? { of(BOOL) } else { ty.with(BOOL) };
            return Ok(format!("select({a}, {b}, {})", self.expression(c, d)?));
        }
        match ty.scalar {
            F32 => self.float(ty, d),
            BOOL => self.boolean(ty, d),
            _ => self.integer(ty, d),
        }
    }

    fn float(&mut self, ty: Ty, d: usize) -> Result<String> {
        const ONE: [&str; 24] = [
            "abs",
            "floor",
            "ceil",
            "fract",
            "sqrt",
            "sin",
            "cos",
            "exp2",
            "log2",
            "sign",
            "trunc",
            "round",
            "saturate",
            "inverseSqrt",
            "dpdx",
            "dpdy",
            "fwidth",
            "tan",
            "atan",
            "exp",
            "log",
            "radians",
            "quantizeToF16",
            "tanh",
        ];
        const TWO: [&str; 5] = ["min", "max", "step", "pow", "atan2"];
        const THREE: [&str; 4] = ["clamp", "mix", "smoothstep", "fma"];
        Ok(match self.below(8)? {
            0..=2 => {
                let op = ["+", "-", "*", "/", "%"][self.below(5)?];
                format!("({} {op} {})", self.expression(ty, d)?, self.expression(ty, d)?)
            }
            3 => format!("{}({})", ONE[self.below(ONE.len())?], self.expression(ty, d)?),
            4 => format!(
                "{}({}, {})",
                TWO[self.below(TWO.len())?],
                self.expression(ty, d)?,
                self.expression(ty, d)?
            ),
            5 => format!(
                "{}({}, {}, {})",
                THREE[self.below(THREE.len())?],
                self.expression(ty, d)?,
                self.expression(ty, d)?,
                self.expression(ty, d)?
            ),
            6 => {
                let from = ty.with([I32, U32, BOOL][self.below(3)?]);
                format!("{}({})", ty.name(), self.expression(from, d)?)
            }
            _ if ty.width > 1 => {
                let op = ["normalize", "-", "abs"][self.below(3)?];
                format!("{op}({})", self.expression(ty, d)?)
            }
            _ => {
                let v = Ty {
                    scalar: F32,
                    width: 2 + self.below(3)?,
                };
                match self.below(3)? {
                    0 => format!("dot({}, {})", self.expression(v, d)?, self.expression(v, d)?),
                    1 => format!("length({})", self.expression(v, d)?),
                    _ => format!("distance({}, {})", self.expression(v, d)?, self.expression(v, d)?),
                }
            }
        })
    }

    fn integer(&mut self, ty: Ty, d: usize) -> Result<String> {
        const ONE: [&str; 7] = [
            "abs",
            "countOneBits",
            "reverseBits",
            "firstLeadingBit",
            "firstTrailingBit",
            "countLeadingZeros",
            "countTrailingZeros",
        ];
        Ok(match self.below(9)? {
            0..=2 => {
                let op = ["+", "-", "*", "/", "%", "&", "|", "^"][self.below(8)?];
                format!("({} {op} {})", self.expression(ty, d)?, self.expression(ty, d)?)
            }
            3 => {
                let op = ["<<", ">>"][self.below(2)?];
                let by = self.expression(ty.with(U32), d)?;
                format!(
                    "({} {op} ({by} & {}(ku[4])))",
                    self.expression(ty, d)?,
                    ty.with(U32).name()
                )
            }
            4 => format!("{}({})", ONE[self.below(ONE.len())?], self.expression(ty, d)?),
            5 => format!(
                "{}({}, {})",
                ["min", "max"][self.below(2)?],
                self.expression(ty, d)?,
                self.expression(ty, d)?
            ),
            6 => {
                let bits = |g: &mut Self| g.expression(of(U32), d.min(1));
                let (offset, count) = (bits(self)?, bits(self)?);
                if self.chance(50)? {
                    format!("extractBits({}, {offset}, {count})", self.expression(ty, d)?)
                } else {
                    format!(
                        "insertBits({}, {}, {offset}, {count})",
                        self.expression(ty, d)?,
                        self.expression(ty, d)?
                    )
                }
            }
            7 => format!("~({})", self.expression(ty, d)?),
            _ => {
                let other = if ty.scalar == I32 { U32 } else { I32 };
                match self.below(4)? {
                    0 => format!("bitcast<{}>({})", ty.name(), self.expression(ty.with(other), d)?),
                    1 if ty == of(U32) => format!("canon({})", self.expression(of(F32), d)?),
                    2 => format!("{}({})", ty.name(), self.expression(ty.with(BOOL), d)?),
                    _ => format!("{}({})", ty.name(), self.expression(ty.with(F32), d)?),
                }
            }
        })
    }

    fn boolean(&mut self, ty: Ty, d: usize) -> Result<String> {
        Ok(match self.below(5)? {
            0..=2 => {
                let operands = ty.with([F32, I32, U32][self.below(3)?]);
                let op = ["<", "<=", ">", ">=", "==", "!="][self.below(6)?];
                format!(
                    "({} {op} {})",
                    self.expression(operands, d)?,
                    self.expression(operands, d)?
                )
            }
            3 => format!("!({})", self.expression(ty, d)?),
            _ if ty.width == 1 => {
                if self.chance(30)? {
                    let v = Ty {
                        scalar: BOOL,
                        width: 2 + self.below(3)?,
                    };
                    return Ok(format!(
                        "{}({})",
                        ["any", "all"][self.below(2)?],
                        self.expression(v, d)?
                    ));
                }
                let op = ["&&", "||"][self.below(2)?];
                format!("({} {op} {})", self.expression(ty, d)?, self.expression(ty, d)?)
            }
            _ => {
                let op = ["&", "|"][self.below(2)?];
                format!("({} {op} {})", self.expression(ty, d)?, self.expression(ty, d)?)
            }
        })
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, depth: usize) -> Result<()> {
        let scope = self.scope.len();
        for _ in 0..1 + self.below(4)? {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.statement(depth)?;
        }
        self.scope.truncate(scope);
        Ok(())
    }

    fn statement(&mut self, depth: usize) -> Result<()> {
        let nested = depth > 0;
        match self.below(if nested { 12 } else { 7 })? {
            0..=2 => {
                let (ty, name) = (self.ty()?, self.name());
                let (value, mutable) = (self.expression(ty, 3)?, self.chance(60)?);
                let word = if mutable { "var" } else { "let" };
                self.line(&format!("{word} {name} = {value};"));
                self.scope.push(Variable { name, ty, mutable });
            }
            3..=6 => {
                let targets: Vec<usize> = (0..self.scope.len()).filter(|&i| self.scope[i].mutable).collect();
                if targets.is_empty() {
                    return Ok(());
                }
                let i = targets[self.below(targets.len())?];
                let (name, ty) = (self.scope[i].name.clone(), self.scope[i].ty);
                if ty.width > 1 && self.chance(30)? {
                    let letter = ['x', 'y', 'z', 'w'][self.below(ty.width)?];
                    let value = self.expression(of(ty.scalar), 3)?;
                    self.line(&format!("{name}.{letter} = {value};"));
                } else {
                    let value = self.expression(ty, 3)?;
                    self.line(&format!("{name} = {value};"));
                }
            }
            7 | 8 => {
                let condition = self.expression(of(BOOL), 2)?;
                self.line(&format!("if {condition} {{"));
                self.block(depth - 1)?;
                if self.chance(50)? {
                    self.line("} else {");
                    self.block(depth - 1)?;
                }
                self.line("}");
            }
            9 => {
                let (name, count) = (self.name(), self.expression(of(U32), 1)?);
                self.line(&format!(
                    "for (var {name} = 0u; {name} < ({count} & ku[3]); {name}++) {{"
                ));
                let scope = self.scope.len();
                self.scope.push(Variable {
                    name,
                    ty: of(U32),
                    mutable: false,
                });
                self.loops += 1;
                self.block(depth - 1)?;
                self.loops -= 1;
                self.scope.truncate(scope);
                self.line("}");
            }
            10 => {
                let selector = self.expression(of(U32), 2)?;
                self.line(&format!("switch {selector} & ku[3] {{"));
                for case in ["case 0u, 3u: {", "case 1u: {", "default: {"] {
                    self.line(case);
                    self.block(depth - 1)?;
                    if self.chance(30)? {
                        let condition = self.expression(of(BOOL), 1)?;
                        self.line(&format!("if {condition} {{ break; }}"));
                    }
                    self.line("}");
                }
                self.line("}");
            }
            _ => {
                let condition = self.expression(of(BOOL), 2)?;
                let exit = match self.below(4)? {
                    0 if self.loops > 0 => "break;".to_owned(),
                    1 if self.loops > 0 => "continue;".to_owned(),
                    2 if self.entry => "discard;".to_owned(),
                    _ if self.entry => self.end()?,
                    _ => format!("return {};", self.expression(self.result, 2)?),
                };
                self.line(&format!("if {condition} {{ {exit} }}"));
            }
        }
        Ok(())
    }

    /// The end of the entry point.
    fn end(&mut self) -> Result<String> {
        let float = self.expression(of(F32), 2)?;
        let (word, int, yes) = (
            self.expression(of(U32), 2)?,
            self.expression(of(I32), 2)?,
            self.expression(of(BOOL), 2)?,
        );
        Ok(format!(
            "return vec4<u32>(canon({float}), {word}, bitcast<u32>({int}), select(data[0], 1u, {yes}));"
        ))
    }

    fn function(&mut self, number: usize) -> Result<()> {
        let result = self.ty()?;
        let parameters: Result<Vec<Ty>> = (0..self.below(4)?).map(|_| self.ty()).collect();
        let parameters = parameters?;
        self.scope.clear();
        self.result = result;
        let mut list = Vec::new();
        for &ty in &parameters {
            let name = self.name();
            list.push(format!("{name}: {}", ty.name()));
            self.scope.push(Variable {
                name,
                ty,
                mutable: false,
            });
        }
        let name = format!("f{number}");
        self.line(&format!("fn {name}({}) -> {} {{", list.join(", "), result.name()));
        self.block(2)?;
        let value = self.expression(result, 3)?;
        self.line(&format!("return {value};\n}}"));
        self.callees.push(Callee {
            name,
            parameters,
            result,
        });
        Ok(())
    }

    fn program(&mut self) -> Result<()> {
        self.text.push_str(HEAD);
        for number in 0..self.below(3)? {
            self.left = 10;
            self.function(number)?;
        }
        self.scope.clear();
        self.entry = true;
        self.left = 40;
        self.line("@fragment fn fs(in: Vertex, @builtin(front_facing) front: bool) -> @location(0) vec4<u32> {");
        let mut input = |name: &str, ty| {
            self.scope.push(Variable {
                name: name.into(),
                ty,
                mutable: false,
            });
        };
        input("in.position", Ty { scalar: F32, width: 4 });
        input("in.a", Ty { scalar: F32, width: 4 });
        input("in.a.x", of(F32));
        input("in.position.y", of(F32));
        input("in.b", Ty { scalar: I32, width: 3 });
        input("front", of(BOOL));
        for _ in 0..3 {
            self.block(4)?;
            // What a block declares stays in sight of the next.
            let (ty, name) = (self.ty()?, self.name());
            let value = self.expression(ty, 4)?;
            self.line(&format!("var {name} = {value};"));
            self.scope.push(Variable {
                name,
                ty,
                mutable: true,
            });
        }
        let end = self.end()?;
        self.line(&format!("{end}\n}}"));
        Ok(())
    }
}

/// A shader with the entry points `vs` and `fs`, made of any bytes.
pub fn random_shader(bytes: &[u8]) -> String {
    let mut u = Unstructured::new(bytes);
    let mut generator = Generator {
        u: &mut u,
        text: String::new(),
        scope: Vec::new(),
        callees: Vec::new(),
        names: 0,
        loops: 0,
        left: 0,
        result: of(F32),
        entry: false,
    };
    // Where bytes run out everything is the first choice; nothing fails.
    generator.program().unwrap_or_default();
    generator.text
}

/// Renders a shader's 12 x 8 texels of four words.
pub fn render(device: &Device, text: &str) -> quadrille::Result<Vec<u8>> {
    let target = device.create_texture(&TextureDescriptor {
        label: Some("random"),
        size: Extent3d::new_2d(12, 8),
        format: TextureFormat::Rgba32Uint,
        usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
        ..TextureDescriptor::default()
    })?;
    let view = target.create_view(&TextureViewDescriptor::default())?;
    let module = device.create_shader_module(ShaderModuleDescriptor {
        label: Some("random.wgsl"),
        source: ShaderSource::Wgsl(text.into()),
    })?;
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba32Uint))];
    let pipeline = device.create_render_pipeline(&RenderPipelineDescriptor::new(
        VertexState::new(&module, "vs", &[]),
        Some(FragmentState::new(&module, "fs", &targets)),
    ))?;
    let words: Vec<u8> = (0..64u32)
        .flat_map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(i).to_le_bytes())
        .collect();
    let data = device.create_buffer_init(&BufferInitDescriptor {
        label: Some("data"),
        contents: &words,
        usage: BufferUsages::STORAGE,
    })?;
    let group = device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0)?,
        entries: &[BindGroupEntry::new(0, &data)],
    })?;
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
        color_attachments: &[Some(RenderPassColorAttachment::new(&view))],
        ..RenderPassDescriptor::default()
    })?;
    pass.set_pipeline(&pipeline)?;
    pass.set_bind_group(0, &group, &[])?;
    pass.draw(0..3, 0..1)?;
    pass.end();
    device.queue().submit([encoder.finish()])?;
    Ok(target.read()?)
}

/// The devices that shaders are run on, the reference first.
pub fn devices() -> Vec<(&'static str, Device)> {
    let device = |backend, lanes| {
        let made = Device::new(&DeviceDescriptor {
            backend,
            lanes,
            threads: std::num::NonZeroUsize::new(1),
            ..DeviceDescriptor::default()
        });
        made.unwrap_or_else(|e| panic!("{e}"))
    };
    vec![
        ("the interpreter", device(Backend::Interpreter, Lanes::Auto)),
        ("native code, 4 lanes", device(Backend::Jit, Lanes::Four)),
        ("native code", device(Backend::Jit, Lanes::Auto)),
    ]
}

/// Runs a random shader everywhere. Panics where results differ, or where it doesn't compile: it is well-typed.
pub fn compare(devices: &[(&'static str, Device)], bytes: &[u8]) {
    let text = random_shader(bytes);
    let mut expected: Option<Vec<u8>> = None;
    for (name, device) in devices {
        let got = match render(device, &text) {
            Ok(got) => got,
            Err(error) => panic!("{name}: {error}\n{text}"),
        };
        let Some(expected) = &expected else {
            expected = Some(got);
            continue;
        };
        if let Some(at) = got.iter().zip(expected).position(|(a, b)| a != b) {
            let mut message = String::new();
            for (who, bytes) in [(*name, &got), ("the interpreter", expected)] {
                let texel = &bytes[at / 16 * 16..][..16];
                _ = writeln!(message, "{who}: {texel:02x?}");
            }
            let (x, y) = (at / 16 % 12, at / 16 / 12);
            panic!("texel {x}, {y} differs\n{message}{text}");
        }
    }
}
