import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from 'postern/sqlite'
import { afterAll, onTestFinished } from 'vitest'

/** True if a database that was closed stays open until its statements are collected, as with libsql. */
export const isLateToClose = openSqlite(':memory:').driver === 'libsql'

/** Makes a folder for the database files of one test file, and removes it at the end. */
export function makeFolder(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'postern-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return (name) => join(folder, name)
}

/** Closes a database at the end of the test that opened it. */
export function closing<D extends { close(): unknown }>(database: D): D {
  onTestFinished(() => void database.close())
  return database
}
