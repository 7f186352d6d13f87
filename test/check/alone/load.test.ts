import { describeAlone } from './describe-alone.ts'

describeAlone((_id, group) => group === 'load')
