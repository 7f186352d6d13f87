import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandProbe } from 'postern/check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { holdLimits } from './play.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-probe-'))
afterAll(() => rmSync(folder, { recursive: true }))

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a probe that is a command', () => {
  const node = `${process.execPath} -e`

  it('gets the word and the id as arguments', async () => {
    const probe = commandProbe(`${node} "console.log(process.argv.slice(1).join() === 'runs,evt_chk_1' ? 3 : 0)"`)
    expect(await probe.runs('evt_chk_1')).toBe(3)
    expect(await probe.fail('evt_chk_1')).toBeUndefined()
  })

  it('gets the space at the end of an id', async () => {
    const probe = commandProbe(`${node} "console.log(process.argv[2] === 'evt_chk_1_e ' ? 3 : 0)"`)
    expect(await probe.runs('evt_chk_1_e ')).toBe(3)
  })

  it('is rejected if it fails, even if it has printed a number', async () => {
    await expect(commandProbe('echo 1; exit 7;').runs('evt_chk_1')).rejects.toThrow('ended with code 7')
    await expect(commandProbe('exit 7;').fail('evt_chk_1')).rejects.toThrow('ended with code 7')
  })

  it('has nothing to read', async () => {
    expect(await commandProbe('cat; echo 2 #').runs('evt_chk_1')).toBe(2)
  })

  it('is ended with all its processes if it does not end within 10 s', async () => {
    const file = join(folder, 'pid')
    const { end: endLimits } = holdLimits()
    const ending = expect(commandProbe(`sleep 60 & echo $! > ${file}; wait; echo`).runs('evt_chk_1')).rejects.toThrow(
      'the probe command did not end within 10 s',
    )
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/^\d+\n/)
    endLimits()
    await ending
    const child = Number(readFileSync(file, 'utf8'))
    onTestFinished(() => {
      if (isRunning(child)) process.kill(child)
    })
    await expect.poll(() => isRunning(child)).toBe(false)
  })
})
