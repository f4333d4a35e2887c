import { objectStoreContract } from '@parley/testing/object-store-contract';
import { connectStorage } from '@parley/testing/object-stores';
import test from 'ava';

objectStoreContract(test, 'files', () => connectStorage());
