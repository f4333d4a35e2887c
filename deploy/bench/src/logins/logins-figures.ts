import type { BenchOptions } from '../bench.ts';
import { atPlace } from '../bench-place.ts';
import type { Figure } from '../figure.ts';
import { startMesh } from '../mesh-under-test.ts';
import { besideLoginsFigures } from './beside-logins.ts';
import { loginTimeFigures } from './login-times.ts';
import { registerPeople, sender } from './people.ts';

/** So many that none of them gets enough wrong passwords to be locked out. */
const people = 20;

/** Logins of a mesh in one process: by themselves, and what they do to others. */
export async function loginsFigures({ rounds, short = false, profileFolder, say }: BenchOptions): Promise<Figure[]> {
  return atPlace(async ({ folder, env: ofModel }) => {
    // Each call comes from an address of its own, as the proxy that the bench is says: no throttle has a say.
    const env = { ...ofModel, TRUSTED_PROXIES: '127.0.0.1/32', DATABASE_URL: '' };
    const mesh = await startMesh({ folder, env, ...(profileFolder && { profileFolder }) });
    try {
      const from = sender(mesh.url);
      const known = await registerPeople(from, people);
      say('logins one at a time');
      const times = await loginTimeFigures(from, known, short ? 5 : 200);
      say(`others beside 20 logins a second, ${rounds} rounds`);
      const stretchMs = short ? 500 : 12_000;
      return [...times, ...(await besideLoginsFigures(from, known, { rounds, stretchMs, say }))];
    } finally {
      await mesh.stop();
    }
  });
}
