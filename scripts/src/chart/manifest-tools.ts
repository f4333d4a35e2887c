import { join } from 'node:path';

/** Programs that check manifests without a cluster, and the schemas of Kubernetes' object kinds. */
export const manifestTools = {
  name: 'kubeconform and kube-score',
  version: '0.8.0 and 1.20.0',
  folder: 'manifest-tools-1',
  scripts: join(import.meta.dirname, 'manifest-tools'),
};
