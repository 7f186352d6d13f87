import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { median, print } from '../harness.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const INDEX = fileURLToPath(new URL('../../src/index.ts', import.meta.url))

const COUNTS = [3, 30, 300]

/** Measures the cost for the compiler of N models with one handler each, beyond a program that only imports the package. */
export function benchTypes(rounds: number): void {
  check(30) // the compiler itself must warm up
  const times = new Map<number, number[]>(COUNTS.map((models) => [models, []]))
  const instantiations = new Map<number, number>()
  for (let round = 0; round < rounds; round++) {
    const empty = check(0)
    for (const models of COUNTS) {
      const { ms, instantiations: count } = check(models)
      times.get(models)?.push(ms - empty.ms)
      instantiations.set(models, count - empty.instantiations)
    }
  }
  const rows = COUNTS.map((models) => {
    const count = instantiations.get(models) ?? 0
    return [
      String(models),
      String(count),
      (count / models).toFixed(0),
      `${median(times.get(models) ?? []).toFixed(0)} ms`,
    ]
  })
  print('types: N type-only models with one .on() each', [
    ['models', 'instantiations', 'a model', 'check time'],
    ...rows,
  ])
}

function check(models: number): { readonly instantiations: number; readonly ms: number } {
  const names = Array.from({ length: models }, (_, index) => `model${index}`)
  const source = [
    `import { createReceiver, record } from '${INDEX}'`,
    ...names.map((name, index) => `interface M${index} { readonly _id: string; readonly ${name}: number }`),
    `const receiver = createReceiver({ secret: 's', models: { ${names.map((name, index) => `${name}: record<M${index}>()`).join(', ')} } })`,
    ...names.map((name) => `receiver.on('${name}.created', (event) => event.data.record.${name})`),
  ].join('\n')
  const file = `${FOLDER}generated.ts`
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: ['node'],
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest)
  const program = ts.createProgram([file], options, host)
  const start = process.cpuUsage()
  const [problem] = program.getSemanticDiagnostics()
  const { user, system } = process.cpuUsage(start)
  if (problem !== undefined) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
  return { instantiations: program.getInstantiationCount(), ms: (user + system) / 1_000 }
}
