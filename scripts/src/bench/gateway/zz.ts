import { startChild } from './child.ts';
import { openReaders } from './readers.ts';
const source = await startChild<any>('stand-ins.ts');
const ours = await startChild<any>('our-gateway.ts', { ...source.hello.env, NODE_OPTIONS: process.env.PROF ? '--cpu-prof --cpu-prof-dir=/tmp/parley/fan --cpu-prof-interval=500' : '' });
const bare = await startChild<any>('bare-sockets.ts');
const own = await openReaders({ url: ours.hello.url, count: 50, token: source.hello.token, subscribe: true });
const other = await openReaders({ url: bare.hello.url, count: 50, token: source.hello.token, subscribe: true });
await new Promise((r) => setTimeout(r, 1000));
const measure = async (server: any, from: any, readers: any, waves: number) => { const b = await server.cpuMs(); for (let w = 0; w < waves; w++) { const all = readers.received(5000); from.emit(100); await all; } return (waves * 5000) / ((await server.cpuMs()) - b); };
await measure(ours, source, own, 3); await measure(bare, bare, other, 3);
const rs: number[] = [];
for (let i = 0; i < 5; i++) { const a = await measure(ours, source, own, 10), b = await measure(bare, bare, other, 10); rs.push(a / b); console.log(a.toFixed(1), b.toFixed(1), (a / b).toFixed(2)); }
console.log('median', rs.sort()[2]!.toFixed(2));
await own.close(); await other.close();
await Promise.all([ours.stop(), bare.stop(), source.stop()]);
