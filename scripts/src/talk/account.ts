import { randomBytes, randomInt } from 'node:crypto';
import type { Api, Tokens } from './api.ts';

const login = `mutation ($email: String!, $password: String!) {
  login(input: { email: $email, password: $password }) { accessToken refreshToken }
}`;
const register = `mutation ($input: RegisterInput!) { register(input: $input) { accessToken refreshToken } }`;

/** Signs in with the credentials given, else registers a throw-away account, whose password it answers. */
export async function enter(api: Api, { email, password }: Partial<Record<'email' | 'password', string | undefined>>) {
  if (email || password) {
    if (!email || !password) throw new Error('An email address and a password go together');
    api.signIn((await api.call<{ login: Tokens }>(login, { email, password })).login);
    return { email };
  }
  const made = {
    email: `guest-${randomBytes(6).toString('hex')}@example.com`,
    password: randomBytes(12).toString('base64url'),
    fullname: 'Guest',
    phoneCode: '+44',
    phoneNumber: `7700${randomInt(0, 1_000_000).toString().padStart(6, '0')}`, // possible, and nobody's
  };
  api.signIn((await api.call<{ register: Tokens }>(register, { input: made })).register);
  return { email: made.email, password: made.password };
}
