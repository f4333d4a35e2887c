import { randomBytes, randomInt } from 'node:crypto';
import type { Api, Tokens } from './api.ts';

const login = `mutation ($email: String!, $password: String!) {
  login(input: { email: $email, password: $password }) { accessToken refreshToken }
}`;

const register = `mutation ($input: RegisterInput!) { register(input: $input) { accessToken refreshToken } }`;

export interface Account {
  email: string;
  /** Only of an account that was made just now. */
  password?: string;
}

/** Signs in with the credentials given, else registers a throw-away account. */
export async function enter(api: Api, given: { email?: string; password?: string }): Promise<Account> {
  if (given.email) {
    const data = await api.call<{ login: Tokens }>(login, { email: given.email, password: given.password ?? '' });
    api.signIn(data.login);
    return { email: given.email };
  }
  const email = `guest-${randomBytes(6).toString('hex')}@example.com`;
  const password = randomBytes(12).toString('base64url');
  const phoneNumber = `7700${randomInt(0, 1_000_000).toString().padStart(6, '0')}`; // possible, and nobody's
  const input = { email, password, fullname: 'Guest', phoneCode: '+44', phoneNumber };
  const data = await api.call<{ register: Tokens }>(register, { input });
  api.signIn(data.register);
  return { email, password };
}
