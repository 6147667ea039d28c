// A loop whose first round is the first to come to the slow path of a load.
int shared;

void bump(int n) {
  for (int i = 0; i < n; i++) shared += i;
}
