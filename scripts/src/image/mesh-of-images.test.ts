import { sampleXlsx } from '@parley/parser/samples';
import { startServers } from '@parley/servers/start-servers';
import { Client } from '@parley/stories/client';
import { converse, endSession, evaluated, sendMessage } from '@parley/stories/conversation';
import { createKnowledgeBase, parsedDocument, uploadFile } from '@parley/stories/knowledge';
import { helm } from '../chart/render.ts';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { imageNames } from './image-content.ts';
import { chartEnvironment } from './testing/chart-environment.ts';
import { imageFolder } from './testing/image-folder.ts';
import { startImage } from './testing/image-process.ts';

const imageTest = await testWith(helm);

const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

// For `--faults`: installing all units takes minutes.
imageTest('all units run from their images alone, as the chart has them, on what its hooks have made', async (t) => {
  t.timeout(900_000);
  const [servers, folder] = await Promise.all([
    startServers({ only: ['postgres', 'redis', 'kafka', 's3'] }),
    imageFolder(t, imageNames(root)),
  ]);
  t.teardown(() => servers.stop());
  const { units, hook } = await chartEnvironment(servers.env);

  for (const job of ['migrate', 'topics', 'migrate', 'topics']) {
    const done = startImage(t, folder, { name: 'commands', ...hook(job) });
    t.is(await done.ended, 0, done.output());
    t.log(done.output());
  }
  const running = units.map((unit) => ({ ...unit, ...startImage(t, folder, unit) }));
  for (const { ports, answers } of running) await answers(`http://127.0.0.1:${ports.ops}/readyz`);

  const gateway = units.find(({ name }) => name === 'gateway');
  const ada = new Client(`http://127.0.0.1:${gateway?.ports.public}/graphql`);
  await ada.register();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'What is a queue?');
  await events.turns(1);
  const base = await createKnowledgeBase(ada);
  const workbook = await uploadFile(ada, base, await sampleXlsx(20), xlsx);
  t.is((await parsedDocument(ada, workbook, 60_000)).parseStatus, 'READY');
  await events.close();
  await endSession(ada, sessionId);
  t.regex((await evaluated(ada, sessionId)).summary, /offline/u);

  for (const { name, limitMb, peakMb, output, ended, stop } of running.toReversed()) {
    const peak = peakMb();
    t.true(peak < limitMb, `${name}: ${peak} MB of ${limitMb}`);
    stop();
    t.is(await ended, 0, output());
    t.log(`${name}: at most ${peak.toFixed()} MB of ${limitMb}`);
  }
});
