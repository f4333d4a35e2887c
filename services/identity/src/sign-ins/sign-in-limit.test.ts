import test from 'ava';
import { limitOf } from './sign-in-limit.ts';

test('a new sign-in is limited by a second factor, and one by password by a missing email proof first', (t) => {
  const none = { hasTwoFactor: false, emailProofRequired: false };
  for (const [state, password, idpOne] of [
    [none, null, null],
    [{ ...none, hasTwoFactor: true }, 'TWO_FACTOR_REQUIRED', 'TWO_FACTOR_REQUIRED'],
    [{ ...none, emailProofRequired: true }, 'EMAIL_PROOF_REQUIRED', null],
    [{ hasTwoFactor: true, emailProofRequired: true }, 'EMAIL_PROOF_REQUIRED', 'TWO_FACTOR_REQUIRED'],
  ] as const) {
    t.is(limitOf(state, 'PASSWORD'), password);
    t.is(limitOf(state, 'IDP_ONE'), idpOne);
  }
});
