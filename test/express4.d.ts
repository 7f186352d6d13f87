/** Express 4, installed beside 5 under another name; both have the same types for the parts that the tests use. */
declare module 'express4' {
  export { default } from 'express'
}
