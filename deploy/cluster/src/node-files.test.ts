import test from 'ava';
import { nodesOf } from './addresses.ts';
import {
  cniConfig,
  containerdConfig,
  kubeletArgs,
  kubeletConfig,
  proxyConfig,
  resolvConf,
  routerArgs,
} from './node-files.ts';

const [, second = { name: '', address: '', pods: '', link: '' }] = nodesOf(2);

test('a node has an address, a range of pods and a cgroup of its own', (t) => {
  t.like(JSON.parse(cniConfig(second, { hasIpv6: true })).plugins[0].ipam, {
    type: 'host-local',
    ranges: [[{ subnet: '10.88.2.0/24' }]],
  });
  t.like(JSON.parse(kubeletConfig(second)), { address: '10.88.0.12', cgroupRoot: '/parley-cluster/node-2' });
  t.like(JSON.parse(proxyConfig(second)), { hostnameOverride: 'node-2', bindAddress: '10.88.0.12' });
  t.true(kubeletArgs(second).includes('--node-ip=10.88.0.12'));
  t.true(routerArgs(second).includes('--hostname-override=node-2'));
});

test('pods have no IPv6 address, which no policy would cover, and no MAC address but their own', (t) => {
  const plugins = (hasIpv6: boolean) => JSON.parse(cniConfig(second, { hasIpv6 })).plugins;
  t.like(plugins(true), [
    { type: 'bridge', macspoofchk: true },
    { type: 'tuning', sysctl: { 'net.ipv6.conf.all.disable_ipv6': '1', 'net.ipv6.conf.default.disable_ipv6': '1' } },
    { type: 'portmap' },
  ]);
  t.like(plugins(false), [{ type: 'bridge' }, { type: 'portmap' }], 'a kernel without IPv6 lacks these settings');
});

test('the name of a link fits into what the kernel allows', (t) => {
  for (const { link } of nodesOf(9)) t.true(link.length <= 15, link);
});

test('containerd keeps everything in the folder of its node', (t) => {
  const config = containerdConfig({ cniPlugins: '/with "quotes"/cni' });
  for (const [, path] of config.matchAll(/^\s*(?:root|state|address|path|conf_dir) = "([^"]+)"$/gmu))
    t.regex(path ?? '', /^\/run\/parley\//u);
  t.true(config.includes(String.raw`bin_dir = "/with \"quotes\"/cni"`));
});

test('pods ask the DNS servers of this machine, but none at a loopback address', (t) => {
  t.is(
    resolvConf('# x\nnameserver 127.0.0.53\nnameserver 10.255.255.53\nnameserver fe80::1%eth0\nsearch a\n'),
    'nameserver 10.255.255.53\n',
  );
  t.is(resolvConf('nameserver 127.0.0.53\n'), '');
});
