import { Role } from '@parley/protos/parley/agent/v1/agent';
import test from 'ava';
import { agentUnit, inTenant, made } from './agent-unit.ts';

const hello = [{ role: Role.ROLE_USER, text: 'Hello!' }];

test('a turn streams the words of the offline model and ends with its figures', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, inTenant(1));
  const texts: string[] = [];
  const ends: unknown[] = [];
  const request = { agentId: id, sessionId: 1, callId: 'a', history: hello };
  for await (const { event } of unit.rpc.runTurn(request, { caller: inTenant(1) })) {
    if (event?.$case === 'text') texts.push(event.value);
    else ends.push(event?.value);
  }

  t.true(texts.length > 3);
  t.regex(texts.join(''), /I am Ada, a patient maths tutor/);
  t.like(ends, { 0: { providerId: 'OFFLINE', modelId: 'offline-extractive', costUsdE8: 0n }, length: 1 });
});
