import { createPasswords } from '../../../../services/identity/src/passwords.ts';
import type { Figure } from '../figure.ts';
import { median } from '../statistics.ts';
import { failToSignIn, type Person, type Sender, signIn } from './people.ts';

const warmUp = 20;

/**
 * How long a login takes: with the right password, with a wrong one, and of an account that is not there. All in turn, with
 * one comparison of a password by itself.
 */
export async function loginTimeFigures(sender: Sender, people: Person[], calls: number): Promise<Figure[]> {
  const times = { alone: [] as number[], right: [] as number[], wrong: [] as number[], unknown: [] as number[] };
  const passwords = createPasswords({ atOnce: 1, queue: 1 });
  const stored = await passwords.hash('a password');
  for (let n = -warmUp; n < calls; n += 1) {
    const person = people[(n + warmUp) % people.length];
    if (!person) throw new Error('There is nobody to sign in');
    const before = performance.now();
    await passwords.verify(stored, 'a password');
    const alone = performance.now() - before;
    const right = (await signIn(sender, person)).tookMs;
    const wrong = await failToSignIn(sender, { ...person, password: 'not the password' });
    const unknown = await failToSignIn(sender, { ...person, email: `nobody-${n + warmUp}@example.com` });
    if (n < 0) continue;
    times.alone.push(alone);
    times.right.push(right);
    times.wrong.push(wrong);
    times.unknown.push(unknown);
  }
  const of = (which: keyof typeof times) => median(times[which]);
  return [
    { name: 'login, p50', value: of('right'), unit: 'ms' },
    { name: 'login, p50, over the comparison of a password', value: of('right') - of('alone'), unit: 'ms', goal: 10 },
    { name: 'login with a wrong password, p50', value: of('wrong'), unit: 'ms' },
    { name: 'login of an account that is not there, p50', value: of('unknown'), unit: 'ms' },
    { name: 'between these two', value: Math.abs(of('wrong') - of('unknown')), unit: 'ms', goal: 5 },
  ];
}
