/** An emulator in a separate process, on the file of the first argument, for tests that kill it. */

import { openSqlite } from '../../adapters/stores/sqlite.ts'
import { startEmulator } from '../../tools/emulator/emulator.ts'

try {
  const database = openSqlite(process.argv[2] ?? '', { synchronous: 'normal' })
  const emulator = await startEmulator({ database, retryScale: 100 })
  console.log(`ready ${emulator.url}`)
} catch (error) {
  console.log(Object(error).code, String(error))
  process.exit(3)
}
