"""Writes related DNA sequences in FASTA, the same ones each time. Arguments: how many, their length."""
import random
import sys

count, length = int(sys.argv[1]), int(sys.argv[2])
random.seed(5)
sequences = [[random.choice("ACGT") for _ in range(length)]]
while len(sequences) < count:
    parent = random.choice(sequences)
    sequences.append([random.choice("ACGT") if random.random() < 0.05 else base for base in parent])
for number, sequence in enumerate(sequences):
    print(f">s{number}\n{''.join(sequence)}")
