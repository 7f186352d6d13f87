#!/usr/bin/env node
// Written so that Node 10 reads it, in which this file is no module yet: without import statements and new syntax.
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number] // Node has three numbers
if (major > 20 || (major === 20 && minor >= 19)) import('./main.ts')
else {
  console.error(`postern needs Node 20.19 or later, and this is Node ${process.versions.node}. Install a newer Node.`)
  process.exitCode = 1
}
