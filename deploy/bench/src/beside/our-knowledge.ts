import { createCallers } from '@parley/kernel/caller';
import { createAddresses } from '@parley/kernel/processes/addresses';
import { knowledge } from '@parley/knowledge';
import { startLedger } from '@parley/knowledge/identity-stub';
import { startService } from '@parley/testing/service-harness';
import { openKnowledge } from '../knowledge-bases.ts';
import { serve } from '../processes.ts';

// The whole knowledge service on a real database, with an in-memory ledger that responds at once.
const { MESH_KEY = '', DATABASE_URL = '' } = process.env;
const endings: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void endings.push(end) };
const dependencies = { callers: createCallers(Buffer.from(MESH_KEY, 'base64')), addresses: createAddresses({}) };
await startLedger(t, dependencies);
const database = await openKnowledge(DATABASE_URL, 'knowledge_embed');
await startService(t, knowledge, { database, dependencies });
serve(dependencies.addresses.of('knowledge', 'graph'), async () => {
  for (const end of endings.toReversed()) await end();
});
