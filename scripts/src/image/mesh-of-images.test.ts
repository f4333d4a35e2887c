import { mailServer } from '@parley/doctor/testing/mail-server';
import { sampleXlsx } from '@parley/parser/samples';
import { startServers } from '@parley/servers/start-servers';
import { Client } from '@parley/stories/client';
import { converse, endSession, evaluated, sendMessage } from '@parley/stories/conversation';
import { openChecker } from '@parley/stories/invariants';
import { createKnowledgeBase, parsedDocument, uploadFile } from '@parley/stories/knowledge';
import { startScriptedModel } from '@parley/stories/scripted-model';
import { leftOut } from '@parley/testing/left-out';
import type { ExecutionContext } from 'ava';
import { helm } from '../chart/render.ts';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { imageNames } from './image-content.ts';
import { chartRelease } from './testing/chart-release.ts';
import { type Release, startCluster } from './testing/cluster.ts';
import { earlierVersion } from './testing/earlier-version.ts';
import { imageFolder } from './testing/image-folder.ts';
import { hasNamespaces } from './testing/image-process.ts';
import { startVisitors } from './testing/visitors.ts';

if (!hasNamespaces()) leftOut('an upgrade of images - left out: processes cannot have namespaces of their own here');
const imageTest = hasNamespaces() ? await testWith(helm) : undefined;

const xlsx = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
/** The reasons with which a stopping gateway or session closes subscriptions. */
const goodbyes = ['closed 1001', 'closed 1013', 'UNAVAILABLE'];
/** Shorter than in a real cluster, because the DNS of `cluster.ts` caches for a shorter time. */
const minReadySeconds = 5;
/** Shorter than in a real cluster, because callers learn sooner that a pod has stopped. */
const preStopSeconds = 5;

/** Returns two versions, the earlier one first, as their own charts configure them with the servers of this test. */
async function releases(t: ExecutionContext, engines: Record<string, string>, config: Record<string, string>) {
  const earlier = earlierVersion(t);
  t.log(`from: ${earlier.commit}`);
  const release = async (name: string, checkout: string): Promise<Release> => {
    const chart = await chartRelease({ engines, config, chart: `${checkout}/charts/parley` });
    const pods = chart.pods.map((pod) => {
      const graceSeconds = pod.graceSeconds - pod.preStopSeconds + preStopSeconds;
      return { ...pod, minReadySeconds, preStopSeconds, graceSeconds };
    });
    return { name, folder: await imageFolder(t, imageNames(root), checkout), chart: { ...chart, pods } };
  };
  return [await release('earlier', earlier.folder), await release('this', root)] as const;
}

// The test runs only with `--faults`, because installing all units twice takes minutes.
imageTest?.('images under the chart are upgraded and rolled back under load, and no request fails', async (t) => {
  t.timeout(1_800_000);
  const servers = await startServers({ only: ['postgres', 'redis', 'kafka', 's3'] });
  t.teardown(() => servers.stop());
  const model = await startScriptedModel();
  t.teardown(() => model.server.stop());
  // A reply lasts longer than the time between a process's SIGTERM and the end of its connections.
  model.answerOthers('', (text) => ({ text: `You asked: ${text}`.split(/(?<= )/u), deltaDelayMs: 300 }));
  const mail = await mailServer('a-password');
  t.teardown(() => mail.stop());
  const { HOSTED_SMALL_MODEL_KEY, ...modelConfig } = model.env;
  const engines = { ...servers.env, SMTP_URL: mail.url, HOSTED_SMALL_MODEL_KEY } as Record<string, string>;
  const config = { ...modelConfig, TRUSTED_PROXIES: '127.0.0.0/8' };
  const [earlier, now] = await releases(t, engines, config);

  const cluster = await startCluster(t, now.chart.services);
  for (const job of ['migrate', 'topics']) t.log(await cluster.run(earlier, job));
  await cluster.install(earlier);
  const visitors = await startVisitors(cluster.url);
  const step = async (what: string, work: () => Promise<unknown>) => {
    const [from, failed] = [visitors.sinceMs(), visitors.failures.length];
    await work();
    t.log(`${what}: from ${from} to ${visitors.sinceMs()} ms`, visitors.failures.slice(failed));
  };

  await step('hooks', async () => {
    for (const job of ['migrate', 'topics', 'migrate', 'topics']) t.log(await cluster.run(now, job));
  });
  const units = now.chart.pods.map(({ unit }) => unit);
  for (const unit of units) await step(`${unit} upgraded`, () => cluster.upgrade(now, [unit]));
  await step('rolled back', () => cluster.upgrade(earlier));
  await step('upgraded again', () => cluster.upgrade(now));
  await usesAll(t, cluster.url);
  await visitors.leave();
  t.log(visitors.done, visitors.outages);
  t.deepEqual(visitors.failures, []);
  t.deepEqual(
    Object.keys(visitors.outages).filter((reason) => !goodbyes.includes(reason)),
    [],
  );
  for (const who of ['conversations', 'uploads', 'arrivals', 'changes']) t.true((visitors.done[who] ?? 0) > 3, who);

  const checker = openChecker({ ...servers.env });
  t.teardown(() => checker.close());
  await checker.rest();
  t.deepEqual(await checker.remainingWork(), []);
  t.deepEqual(await checker.broken(), []);
  await cluster.uninstall();
  for (const { pod, how, tookMs, allowedMs, peakMb, limitMb } of cluster.ended) {
    t.is(how, 0, pod);
    t.true(tookMs < allowedMs, `${pod}: ${tookMs} ms of ${allowedMs}`);
    t.true(peakMb < limitMb, `${pod}: ${peakMb} MB of ${limitMb}`);
    t.log(`${pod}: stopped in ${Math.round(tookMs)} ms of ${allowedMs}; at most ${peakMb.toFixed()} MB of ${limitMb}`);
  }
});

/** Runs one conversation and creates one workbook and one evaluation. */
async function usesAll(t: ExecutionContext, url: string): Promise<void> {
  const ada = new Client(url);
  await ada.register();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'What is a queue?');
  await events.turns(1);
  const base = await createKnowledgeBase(ada);
  const workbook = await uploadFile(ada, base, await sampleXlsx(20), xlsx);
  t.is((await parsedDocument(ada, workbook, 60_000)).parseStatus, 'READY');
  await events.close();
  await endSession(ada, sessionId);
  t.truthy((await evaluated(ada, sessionId)).summary);
}
