import { isIPv4 } from 'node:net';
import { dnsService, type Node, servicesRange } from './addresses.ts';
import { clusterGroup } from './cgroups.ts';
import { images } from './programs.ts';

/** The path of the node's folder inside its mount namespace (`node.sh`). */
export const inside = '/run/parley';
export const containerdSocket = `${inside}/containerd/containerd.sock`;
/** The bridge that connects a node's pods. */
const podBridge = 'cni0';

export const ports = { kubeletHealth: 10_248, proxyHealth: 10_256, routerHealth: 20_244 };

/** Returns the control group of a node's pods. kubelet creates its own groups inside it. */
export const groupOf = ({ name }: Node) => `${clusterGroup}/${name}`;

/**
 * Returns containerd's configuration. With `restrict_oom_score_adj`, containerd does not lower out-of-memory scores. It could not lower
 * them if this machine is a container without CAP_SYS_RESOURCE.
 */
export function containerdConfig({ cniPlugins }: { cniPlugins: string }): string {
  return `version = 2
root = "${inside}/containerd/root"
state = "${inside}/containerd/state"

[grpc]
  address = "${containerdSocket}"

[plugins."io.containerd.internal.v1.opt"]
  path = "${inside}/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${images.pause}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${JSON.stringify(cniPlugins)}
    conf_dir = "${inside}/cni"
`;
}

/** The file of the setting that disables IPv6. It exists only if the kernel has IPv6. */
export const ipv6Setting = '/proc/sys/net/ipv6/conf/all/disable_ipv6';

/**
 * Returns the CNI configuration. Pods have no IPv6 addresses, not even link-local ones, because kube-router enforces NetworkPolicies only
 * for IPv4 (`--enable-ipv6=false`). A pod can send only from its own MAC address. Nodes do not masquerade, because NetworkPolicies match
 * the pods' own addresses. This machine masquerades the pods' traffic to other networks.
 */
export function cniConfig({ pods }: Node, { hasIpv6 }: { hasIpv6: boolean }): string {
  const ipam = {
    type: 'host-local',
    ranges: [[{ subnet: pods }]],
    routes: [{ dst: '0.0.0.0/0' }],
    dataDir: `${inside}/ipam`,
  };
  const noIpv6 = { 'net.ipv6.conf.all.disable_ipv6': '1', 'net.ipv6.conf.default.disable_ipv6': '1' };
  const plugins = [
    { type: 'bridge', bridge: podBridge, isGateway: true, ipMasq: false, hairpinMode: true, macspoofchk: true, ipam },
    ...(hasIpv6 ? [{ type: 'tuning', dataDir: `${inside}/tuning`, sysctl: noIpv6 }] : []),
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  return JSON.stringify({ cniVersion: '1.0.0', name: 'parley', plugins }, null, 2);
}

export function kubeletConfig(node: Node): string {
  const { name, address } = node;
  return JSON.stringify(
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address,
      healthzBindAddress: address,
      healthzPort: ports.kubeletHealth,
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: `${inside}/ca.crt` },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: `${inside}/${name}.crt`,
      tlsPrivateKeyFile: `${inside}/${name}.key`,
      containerRuntimeEndpoint: `unix://${containerdSocket}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${groupOf(node)}`,
      failSwapOn: false,
      clusterDomain: 'cluster.local',
      clusterDNS: [dnsService],
      resolvConf: `${inside}/resolv.conf`,
      volumePluginDir: `${inside}/volume-plugins`,
      // The thresholds for evicting pods are low, because the disk is shared with everything else on this machine.
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
    },
    null,
    2,
  );
}

export function kubeletArgs({ name, address }: Node): string[] {
  return [
    `--config=${inside}/kubelet.json`,
    `--kubeconfig=${inside}/${name}.kubeconfig`,
    `--root-dir=${inside}/kubelet`,
    `--cert-dir=${inside}/kubelet`,
    `--hostname-override=${name}`,
    `--node-ip=${address}`,
  ];
}

/**
 * Returns kube-proxy's configuration. With it, kube-proxy does not change the limits of connection tracking, because they apply to the
 * whole machine.
 */
export function proxyConfig({ name, address }: Node): string {
  return JSON.stringify(
    {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'iptables',
      hostnameOverride: name,
      bindAddress: address,
      healthzBindAddress: `${address}:${ports.proxyHealth}`,
      metricsBindAddress: `${address}:10249`,
      clientConnection: { kubeconfig: `${inside}/kube-proxy.kubeconfig` },
      // Masquerades traffic that does not come from the pods' bridge, for example from this machine, so that responses return through this
      // node.
      detectLocalMode: 'BridgeInterface',
      detectLocal: { bridgeInterface: podBridge },
      conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
      iptables: { localhostNodePorts: false },
    },
    null,
    2,
  );
}

/** Returns the flags of kube-router, which runs only as the firewall that enforces NetworkPolicies. */
export function routerArgs({ name }: Node): string[] {
  return [
    `--kubeconfig=${inside}/kube-router.kubeconfig`,
    `--hostname-override=${name}`,
    `--service-cluster-ip-range=${servicesRange}`,
    '--run-firewall=true',
    '--run-router=false',
    '--run-service-proxy=false',
    '--enable-ipv6=false',
    `--health-port=${ports.routerHealth}`,
    '--metrics-port=0',
  ];
}

/**
 * Returns a resolv.conf with those of the machine's DNS servers that pods can reach. Loopback addresses are omitted: in a pod, such an
 * address would be the pod itself.
 */
export function resolvConf(machines: string): string {
  const servers = [...machines.matchAll(/^nameserver\s+(\S+)/gmu)].flatMap(([, server = '']) =>
    isIPv4(server) && !server.startsWith('127.') ? [server] : [],
  );
  return servers.map((server) => `nameserver ${server}\n`).join('');
}
