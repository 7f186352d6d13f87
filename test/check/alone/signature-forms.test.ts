import { signatureForms } from '../../../src/check/cases/signature-forms.ts'
import { describeAlone } from './describe-alone.ts'

const FORMS = signatureForms.map(({ id }) => id)

describeAlone((id) => FORMS.includes(id))
