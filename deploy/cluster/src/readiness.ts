interface Condition {
  type: string;
  status: string;
  message?: string;
}

interface KubernetesObject {
  metadata: { name: string; namespace?: string };
  status?: {
    phase?: string;
    conditions?: Condition[];
    containerStatuses?: { state?: { waiting?: { reason?: string } } }[];
  };
}

/** A list of the Kubernetes API, as `kubectl get nodes -o json` prints it. */
export interface ObjectList {
  items: KubernetesObject[];
}

export interface Readiness {
  /** The name; for a pod, preceded by its namespace. */
  name: string;
  ready: boolean;
  /** Why the node or pod is not ready. */
  reason?: string;
}

const findCondition = ({ status }: KubernetesObject, type: string) =>
  status?.conditions?.find((each) => each.type === type);

export function nodesIn({ items }: ObjectList): Readiness[] {
  return items.map((item) => {
    const condition = findCondition(item, 'Ready');
    const { name } = item.metadata;
    if (condition?.status === 'True') return { name, ready: true };
    return { name, ready: false, reason: condition?.message ?? 'its kubelet has not reported yet' };
  });
}

/** Returns the readiness of pods. Completed pods count as ready. */
export function podsIn({ items }: ObjectList): Readiness[] {
  return items.map((item) => {
    const { name, namespace } = item.metadata;
    const ready = item.status?.phase === 'Succeeded' || findCondition(item, 'Ready')?.status === 'True';
    if (ready) return { name: `${namespace}/${name}`, ready };
    const waiting = item.status?.containerStatuses?.map(({ state }) => state?.waiting?.reason).find(Boolean);
    const unmet = item.status?.conditions?.find(({ status, message }) => status === 'False' && message)?.message;
    return { name: `${namespace}/${name}`, ready, reason: waiting ?? unmet ?? item.status?.phase ?? 'unknown' };
  });
}
