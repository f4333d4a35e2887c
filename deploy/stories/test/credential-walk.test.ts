import test from 'ava';
import type { Client } from '../src/client.ts';
import { type Bearer, bearer, credentials } from '../src/credential-kinds.ts';
import { sharedCredentialMesh } from '../src/credentials.ts';
import { contractAccess, type Operation, servedOperations } from '../src/served-operations.ts';
import { subscribeOutcome } from '../src/subscribe-outcome.ts';

const mesh = sharedCredentialMesh(test);
const nobodysId = 900_000_001;

test('the supergraph asks of each operation the credentials that the contract names', async (t) => {
  const { visitor } = await mesh();
  const operations = await servedOperations(visitor());
  t.true(operations.length >= 30);
  const agreed = contractAccess();
  for (const { name, by } of operations) {
    const expected = agreed?.get(name) ?? by;
    t.deepEqual(by.toSorted(), expected.toSorted(), name);
  }
});

for (const [name, credential] of Object.entries(credentials)) {
  test(`each operation answers ${name} as its @access says`, async (t) => {
    const all = await mesh();
    const operations = await servedOperations(all.visitor());
    const shared = await credential.make(all);
    for (const operation of operations) {
      const { by, kind } = operation;
      const takes = credential.kind !== 'none' && by.includes(credential.kind);
      const refusal = takes ? credential.refusal(operation) : 'UNAUTHENTICATED';
      if (by.length === 0) {
        const strangers = await answerTo(operation, bearer(all.visitor()));
        t.is(await answerTo(operation, at(all.visitor(), shared)), strangers, `${operation.name} is public`);
        t.notRegex(strangers, /FORBIDDEN|INTERNAL|UNAVAILABLE|Not signed in/, operation.name);
      } else if (refusal === undefined) {
        // What is let in may end the credential itself, so that each mutation has one of its own.
        const own = kind === 'mutation' ? await credential.make(all) : shared;
        const answer = await answerTo(operation, own);
        t.notRegex(answer, /UNAUTHENTICATED|FORBIDDEN|INTERNAL|UNAVAILABLE|closed/, `${operation.name}: ${answer}`);
      } else {
        const answer = (await answerTo(operation, shared)).split(':')[0];
        // A socket with a credential that is none is closed before anything can be asked on it.
        const told = kind === 'subscription' && answer === 'closed 4403' ? refusal : answer;
        t.is(told, refusal, operation.name);
      }
    }
  });
}

/** The code and reason with which the operation is answered, and the message; `ok` where it is not refused. */
async function answerTo(operation: Operation, { url, headers, sessionId = nobodysId }: Bearer): Promise<string> {
  const variables = operation.variables((path, type) => {
    if (/(^|\.)(id|\w+Id)$/.test(path) && ['ID', 'Int', 'Float'].includes(type.name)) {
      const id = path.endsWith('sessionId') ? sessionId : nobodysId;
      return type.name === 'ID' ? String(id) : id;
    }
    if (operation.kind === 'subscription' && type.name === 'String') return 'no such place';
    return undefined;
  });
  if (operation.kind === 'subscription') return subscribeOutcome(url, headers, operation.document, variables);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: operation.document, variables }),
  });
  const { errors } = (await response.json()) as {
    errors?: { message: string; extensions: { code: string; reason?: string } }[];
  };
  const [error] = errors ?? [];
  if (!error) return 'ok';
  const { code, reason } = error.extensions;
  return `${[code, reason].filter(Boolean).join(' ')}: ${error.message}`;
}

/** The same credential from somewhere else, where no throttle has counted anything. */
function at({ ip }: Client, shown: Bearer): Bearer {
  return { ...shown, headers: { ...shown.headers, 'x-forwarded-for': ip } };
}
