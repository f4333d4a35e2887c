import test from 'ava';
import { objectStoreContract } from '../src/testing/object-store-contract.ts';
import { connectStorage } from './support/object-stores.ts';

objectStoreContract(test, 'files', () => connectStorage());
