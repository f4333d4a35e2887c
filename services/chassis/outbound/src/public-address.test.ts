import test from 'ava';
import { isPublicAddress } from './public-address.ts';

const refused: Record<string, string[]> = {
  'this network': ['0.0.0.0', '0.1.2.3', '::'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1', 'fec0::1'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  'link-local': ['169.254.0.1', 'fe80::1', 'febf::1'],
  'carrier-grade': ['100.64.0.1', '100.127.255.255'],
  metadata: ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  reserved: [
    '240.0.0.1',
    '255.255.255.255',
    '192.0.0.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.175.48.1',
    '4000::1',
    '5f00::1',
    '100::1',
    '2001::1',
    '2620:4f:8000::1',
    '3ffe::1',
  ],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  mapped: ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '0:0:0:0:0:FFFF:7F00:1'],
  compatible: ['::127.0.0.1', '::8.8.8.8', '::ffff:0:127.0.0.1'],
  NAT64: [
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::10.1.2.3',
    '64:ff9b:1::8.8.8.8',
    '64:ff9b:0:1::8.8.8.8',
  ],
  '6to4': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:808:808::1'],
  Teredo: ['2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ISATAP: ['2606:4700::5efe:127.0.0.1', '2606:4700::200:5efe:10.0.0.1', 'fe80::5efe:8.8.8.8'],
  'with a zone': ['fe80::1%eth0', '::1%lo'],
  'no address': ['', 'localhost', '127.1', '0x7f000001', '2130706433', '8.8.8.8.8', '1.1.1.1/8'],
};

for (const [what, addresses] of Object.entries(refused)) {
  test(`an address is refused: ${what}`, (t) => {
    for (const address of addresses) t.false(isPublicAddress(address), address);
  });
}

test('public addresses are called, those beside refused ranges too', (t) => {
  const addresses = [
    '8.8.8.8',
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
  ];
  addresses.push(
    '128.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
  );
  addresses.push(
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  );
  for (const address of addresses) t.true(isPublicAddress(address), address);
});
