import type { ExecutionContext } from 'ava';
import { openKubectl } from '../../src/install/kubectl.ts';
import type { Cluster } from './cluster-story.ts';

const namespace = 'strangers';

/** Starts a pod in its own namespace, which contains nothing of the chart. The namespace is deleted after the test. */
export async function startStranger(t: Pick<ExecutionContext, 'teardown'>, { folders, kubectl, installed }: Cluster) {
  const own = openKubectl(folders, namespace);
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  t.teardown(() => own.run(['delete', 'namespace', namespace, '--wait=false']));
  const name = 'stranger';
  await own.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name,
          image: `docker.io/parley/commands:${installed.tag}`,
          imagePullPolicy: 'Never',
          command: ['sleep', 'infinity'],
        },
      ],
    },
  });
  await own.run(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=120s']);
  return { kubectl: own, name };
}
