/** Express 4, installed beside 5 under another name; what the tests use of it is typed alike in both. */
declare module 'express4' {
  export { default } from 'express'
}
