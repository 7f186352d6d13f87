import { compare } from './compare.ts'
import { Contestant } from './harness.ts'
import { makeRequests, sendAll } from './http/load.ts'
const COUNT=2500
const kind=(n:string)=>n.startsWith('octokit')?'node-octokit':n.startsWith('hand')?'node-by-hand':n.startsWith('careful')?'node-careful':'node-postern'
await compare({ title:'HTTP a/b', names:['octokit','hand','now','varT','varA','varTA'],
 start:(n)=>new Contestant(n, n.startsWith('var')?`../../${n}/bench/http/server.mjs`:'http/server.mjs',[kind(n)]),
 check: async()=>{}, play: async(c)=>{const port=await c.ask<number>({port:true});const r=makeRequests(COUNT,kind(c.name));await c.ask({mark:true});await sendAll(port,r);const {cpu}=await c.ask<{cpu:number}>({mark:true});return cpu/COUNT}},
 {processes:3,warmUp:6,rounds:9})
