import { randomBytes } from 'node:crypto';
import { post } from '../post.ts';
import { textOf } from '../text-of.ts';

/** Sends one operation, from a client address that nobody had before, so that no throttle and no lock has a say. */
export interface Sender {
  /** Answers the data and how long it took. @throws Error with the whole answer where there is no data. */
  send<Data>(query: string, variables: object, token?: string): Promise<{ data: Data; tookMs: number }>;
  /** The same for what must be refused: the code of the refusal instead of data. */
  refusal(query: string, variables: object): Promise<{ code: string; tookMs: number }>;
}

interface Answer<Data> {
  data?: Data | null;
  errors?: { extensions?: { code?: string } }[];
}

/** @param url of a mesh that takes this machine for a trusted proxy. */
export function sender(url: string): Sender {
  let clients = 0;
  function nextAddress(): string {
    clients += 1;
    return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
  }

  async function ask<Data>(query: string, variables: object, token?: string) {
    const headers = {
      'x-app-platform': 'customer',
      'x-forwarded-for': nextAddress(),
      ...(token && { authorization: `Bearer ${token}` }),
    };
    const before = performance.now();
    const text = await textOf(await post(url, { query, variables }, headers));
    return { text, answer: JSON.parse(text) as Answer<Data>, tookMs: performance.now() - before };
  }

  return {
    async send<Data>(query: string, variables: object, token?: string) {
      const { text, answer, tookMs } = await ask<Data>(query, variables, token);
      if (answer.errors || !answer.data) throw new Error(`It was refused: ${text}`);
      return { data: answer.data, tookMs };
    },
    async refusal(query, variables) {
      const { text, answer, tookMs } = await ask(query, variables);
      const code = answer.errors?.[0]?.extensions?.code;
      if (!code) throw new Error(`It was not refused: ${text}`);
      return { code, tookMs };
    },
  };
}

const register = 'mutation ($input: RegisterInput!) { register(input: $input) { accessToken } }';
const login = 'mutation ($input: SignInInput!) { login(input: $input) { accessToken } }';

export interface Person {
  email: string;
  password: string;
}

export async function registerPeople({ send }: Sender, count: number): Promise<Person[]> {
  const people: Person[] = [];
  for (let n = 0; n < count; n += 1) {
    const person = {
      email: `${randomBytes(6).toString('hex')}@example.com`,
      password: randomBytes(12).toString('hex'),
    };
    const phoneNumber = `7700900${n.toString().padStart(3, '0')}`; // possible, and nobody's
    await send(register, { input: { ...person, fullname: 'Ada', phoneCode: '+44', phoneNumber } });
    people.push(person);
  }
  return people;
}

/** Signs in and answers the access token. */
export async function signIn({ send }: Sender, person: Person): Promise<{ token: string; tookMs: number }> {
  const { data, tookMs } = await send<{ login: { accessToken: string } }>(login, { input: person });
  return { token: data.login.accessToken, tookMs };
}

/** Tries to sign in and must fail; answers how long that took. */
export async function failToSignIn({ refusal }: Sender, person: Person): Promise<number> {
  const { code, tookMs } = await refusal(login, { input: person });
  if (code !== 'UNAUTHENTICATED') throw new Error(`A wrong login was answered ${code}`);
  return tookMs;
}
